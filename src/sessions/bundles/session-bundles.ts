/** What the bundles of an instance give to its sessions (docs/sessions.md, Bundles). {@link file://./../main.ts} reads them at the first session. */
import { type BundleContents, readContents } from '../../core/bundles/contents.ts'
import { type BundlePlace, type FoundPlace, walkBundles } from '../../core/bundles/walk.ts'
import type { BundleEntry } from '../../core/protocol/instance.ts'
import { type AgentOptions, type SessionOptions, TOOL_NAMES, type ToolName } from '../contract/contract.ts'
import type { Skill } from '../tools/skills.ts'

/** What one session gets of them. */
export interface BundleShare {
  /** Before the author's own. */
  instructions: string
  skills: readonly Skill[]
  /** Agents that its model can give tasks to. */
  agents: Readonly<Record<string, AgentOptions>>
  /** Directories that its tools may read. */
  directories: readonly string[]
  /** The only tools of the agent that it runs as; undefined for all. */
  tools: readonly ToolName[] | undefined
}

const NOTHING: BundleShare = { instructions: '', skills: [], agents: {}, directories: [], tools: undefined }

export class SessionBundles {
  readonly #entries: readonly BundleEntry[]
  #read: BundleContents | undefined

  constructor(entries: readonly BundleEntry[]) {
    this.#entries = entries
  }

  /** Why there is no such agent, as the rest of a sentence; undefined where it is there. */
  problemWith({ agent, bundles = true }: SessionOptions): string | undefined {
    if (agent === undefined) return undefined
    if (!bundles) return 'an "agent" is one of the bundles, and "bundles" is false'
    const known = [...this.#contents.agents.keys()]
    if (known.includes(agent)) return undefined
    return `there is no agent "${agent}" in its bundles; ${known.length === 0 ? 'they have none' : `there are ${known.join(', ')}`}`
  }

  /** A session of an agent gets the instructions of that agent alone, and skills. It has no agents of its own. */
  shareOf({ agent, bundles = true }: SessionOptions, isChild: boolean): BundleShare {
    if (!bundles || this.#entries.length === 0) return NOTHING
    const { instructions, skills, agents, directories } = this.#contents
    const as = agent === undefined ? undefined : agents.get(agent)
    return {
      instructions: as?.instructions ?? (isChild ? '' : instructions),
      skills,
      agents: isChild || as !== undefined ? {} : agentOptions(agents),
      directories,
      tools: as?.tools?.filter(isTool),
    }
  }

  get #contents(): BundleContents {
    this.#read ??= readBundles(this.#entries)
    return this.#read
  }
}

/** The host has fetched them: what it did not fetch is not there. */
function readBundles(entries: readonly BundleEntry[]): BundleContents {
  const known = new Map(entries.map((entry) => [entry.address, entry]))
  const lookup = (address: string): FoundPlace => {
    const found = known.get(address)
    if (found === undefined) return { refused: 'it was not fetched' }
    return placeOf(found) ?? (found.reason === undefined ? 'satisfied' : { refused: found.reason })
  }
  const tops = entries.filter(({ included }) => !included).map(placeOf)
  return readContents(
    walkBundles(
      tops.filter((top) => top !== undefined),
      lookup,
    ),
  )
}

function placeOf({ name, path, subdirectory }: BundleEntry): BundlePlace | undefined {
  return path === null ? undefined : { name, path, subdirectory }
}

function agentOptions(agents: BundleContents['agents']): Record<string, AgentOptions> {
  return Object.fromEntries([...agents].map(([name, { description }]) => [name, { description, agent: name }]))
}

function isTool(name: string): name is ToolName {
  return (TOOL_NAMES as readonly string[]).includes(name)
}
