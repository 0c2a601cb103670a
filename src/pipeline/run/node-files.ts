/** The data files of nodes: `data/nodes/<directory>/…`, one directory for each execution (docs/decisions/0034, Contract). */
import { createHash } from 'node:crypto'
import type { DataFiles } from '../../sdk/index.ts'
import type { OutcomeLog } from '../walks/outcome-log.ts'
import type { Execution } from '../walks/walk.ts'

const NAME_MAX_CHARS = 80
const TEXT_MAX_CHARS = 1024 * 1024

export class NodeFiles {
  readonly #data: DataFiles
  readonly #log: OutcomeLog

  constructor(data: DataFiles, log: OutcomeLog) {
    this.#data = data
    this.#log = log
  }

  /** The same for the same execution, also after a pause. */
  directoryOf(execution: Execution): string {
    return nameIn(this.#log, 'dir', placeOf(execution), plainName(execution.node.id))
  }

  /** undefined where it was not written. */
  async read(directory: string, name: string): Promise<string | undefined> {
    return await this.#data.read(`nodes/${directory}/${name}`)
  }

  async write(directory: string, name: string, text: string): Promise<void> {
    await this.#data.write(`nodes/${directory}/${name}`, text.slice(0, TEXT_MAX_CHARS))
  }
}

/** A name that is unique among those of its kind, and the same for the same use, also after a pause. */
export function nameIn(
  log: OutcomeLog,
  kind: 'dir' | 'ask' | 'session' | 'status',
  use: string,
  wanted: string,
): string {
  return log.nameFor(`${kind} ${use}`, `${kind}/${wanted}`).slice(kind.length + 1)
}

/** For how many ms a question is open by now, also before a pause. */
export function openFor(log: OutcomeLog, use: string): number {
  const at = log.takenAt(`ask ${use}`)
  // A clock that was set back makes it no younger than it is.
  return at === undefined ? 0 : Math.max(0, Date.now() - at)
}

/** Ids of the questions that were asked, also before a pause. */
export function questionsOf(log: OutcomeLog): string[] {
  return log.names().flatMap((name) => (name.startsWith('ask/') ? [name.slice('ask/'.length)] : []))
}

/** Names one execution of a node in a run. */
export function placeOf({ scope, node, state }: Execution): string {
  return `${scope.id}#${node.id}@${state.steps}`
}

/** A name for files, sessions and questions: a node's id may hold any character. */
export function plainName(id: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(id) && id.length <= NAME_MAX_CHARS) return id
  const plain = id.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^[-_]+|-+$/g, '')
  return `${plain.slice(0, 40) || 'node'}-${createHash('sha256').update(id).digest('hex').slice(0, 6)}`
}
