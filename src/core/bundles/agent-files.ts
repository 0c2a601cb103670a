/** Agents as bundles describe them: a front matter with a name and a description, then instructions. */
import { SESSION_BUNDLE_AGENT_CHARS } from '../limits.ts'
import { type Front, listIn, objectIn, textIn } from './front-matter.ts'
import { toolsOfClaude } from './tool-names.ts'

export interface AgentFile {
  /** As its file says; undefined where it says none. */
  name: string | undefined
  description: string
  instructions: string
  /** Only these; undefined for all. */
  tools: string[] | undefined
  /** Tools that no session has. */
  unknownTools: string[]
}

/** A file without a front matter is no agent: a README. */
export function readAgent({ fields, body, fault }: Front): { agent?: AgentFile; fault?: string } {
  const agent = agentOf(fields, body)
  return { ...(agent === undefined ? {} : { agent }), ...(fault === undefined ? {} : { fault }) }
}

/** Undefined where nothing says when the agent is to be used. */
export function agentOf(fields: Record<string, unknown>, instructions: string): AgentFile | undefined {
  // Amplifier has them in `meta`, Claude Code at the top.
  const meta = { ...fields, ...objectIn(fields, 'meta') }
  const description = textIn(meta, 'description')
  if (description === undefined) return undefined
  const { tools, unknown } = toolsOf(fields)
  return {
    name: textIn(meta, 'name'),
    description: description.replace(/\s+/g, ' ').trim().slice(0, SESSION_BUNDLE_AGENT_CHARS),
    instructions: instructions.trim(),
    tools,
    unknownTools: unknown,
  }
}

/** A list of names allows only these. Modules of Amplifier come besides those that the session has. */
function toolsOf(fields: Record<string, unknown>): { tools: string[] | undefined; unknown: string[] } {
  const listed = listIn(fields, 'tools')
  const names = listed.flatMap((one) => (typeof one === 'string' ? splitNames(one) : []))
  if (names.length === 0 || names.includes('*')) return { tools: undefined, unknown: [] }
  return toolsOfClaude(names)
}

/** By commas outside of brackets: `Bash(git add:*, git commit:*)` is one. */
function splitNames(text: string): string[] {
  return text
    .replace(/[[\]"']/g, '')
    .split(/,(?![^(]*\))/)
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .slice(0, 100)
}
