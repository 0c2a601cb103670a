/** The tools of one session, with what they share: which files it has read, its commands, and where it works. */
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { wellFormed } from '../../core/primitives/well-formed.ts'
import { OUTPUTS_DIR } from '../../core/protocol/session/session.ts'
import type { Redactor } from '../../core/redaction/redact.ts'
import type { OwnTool, ToolHooks, ToolName } from '../contract/contract.ts'
import type { Guardian } from '../guardian/guardian.ts'
import { applyPatchTool } from './apply-patch.ts'
import { fetchTool } from './fetch.ts'
import { editTool, readTool, type Seen, todoTool, writeTool } from './files.ts'
import { hooked } from './hooked.ts'
import { Place } from './place.ts'
import { globTool, searchTool } from './search.ts'
import { Shell } from './shell.ts'
import type { Tool } from './tool.ts'

export interface ToolboxOptions {
  session: string
  /** `provider/model`. */
  model: string
  cwd: string
  /** Directories that tools may use besides the working directory and /tmp. */
  roots: readonly string[]
  resolveDir: string
  /** Of the session. */
  directory: string
  guardian: Guardian
  redactor: Redactor
  chosen: readonly ToolName[] | undefined
  own: Readonly<Record<string, OwnTool>>
  hooks: ToolHooks
  /** Tools that need more than a directory. */
  more: readonly Tool[]
  /** Directories that are only read. */
  readable: readonly string[]
  readOnly: boolean
  /** The tool fetch may reach addresses of this machine and of private networks. */
  privateAddresses: boolean
  signal: AbortSignal
}

/** Tools of a session that is readOnly: what runs a command can write. */
const READ_ONLY: readonly string[] = ['read', 'search', 'glob', 'fetch', 'todo_list']

/** Models that were trained on its format, also where a gateway offers them. */
const PATCHING = /^openai\/|\/(?:gpt-|codex)/i

export class Toolbox {
  readonly tools: ReadonlyMap<string, Tool>
  readonly cwd: string
  readonly #shell: Shell

  constructor(options: ToolboxOptions) {
    const {
      session,
      model,
      cwd,
      roots,
      resolveDir,
      directory,
      guardian,
      redactor,
      chosen,
      own,
      hooks,
      more,
      readable,
      readOnly,
      privateAddresses,
      signal,
    } = options
    const outputs = join(directory, OUTPUTS_DIR)
    mkdirSync(outputs, { recursive: true })
    const place = new Place({
      cwd,
      roots: [...roots, '/tmp', tmpdir()],
      closed: resolveDir,
      readable: [outputs, ...readable],
    })
    const seen: Seen = new Map()
    this.cwd = place.cwd
    this.#shell = new Shell({ place, guardian, redactor, session, resolveDir, outputs, signal })
    const built = [
      readTool(place, seen),
      writeTool(place, seen),
      editTool(place, seen),
      ...(chosen !== undefined || PATCHING.test(model) ? [applyPatchTool(place, seen)] : []),
      searchTool(place),
      globTool(place),
      fetchTool(privateAddresses, redactor),
      ...this.#shell.tools(),
      todoTool(),
    ]
    const given = built.filter(({ name }) => chosen === undefined || chosen.includes(name as ToolName))
    const allowed = readOnly ? given.filter(({ name }) => READ_ONLY.includes(name)) : given
    const owns = Object.entries(own).filter(([, one]) => !readOnly || one.readOnly === true)
    this.tools = new Map(
      [...allowed, ...owns.map(([name, one]) => ownTool(name, one)), ...more].map((one) => [
        one.name,
        hooked(sendable(one), hooks),
      ]),
    )
  }

  /** Ends what runs in the background. */
  close(): Promise<void> {
    return this.#shell.close()
  }
}

/** What a server or a skill says of itself may have been cut within a character. */
function sendable(tool: Tool): Tool {
  return { ...tool, description: tool.description.toWellFormed(), input: wellFormed(tool.input) }
}

function ownTool(name: string, { description, input, readOnly = false, run }: OwnTool): Tool {
  return {
    name,
    description,
    input,
    effect: readOnly ? 'reads' : 'runs',
    run: async (value, { signal }) => ({ text: String(await run(value, { signal })) }),
  }
}
