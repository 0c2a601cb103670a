/**
 * The guardian: looks at a worker before every call of a tool, and refuses, warns or ends orphans (spec, Limits, layer 2). A look that fails
 * allows the call: the guardian must never end a run.
 */
import {
  GUARDIAN_REPEATS_MAX,
  GUARDIAN_REPEATS_MS,
  GUARDIAN_TASKS_MAX,
  GUARDIAN_TASKS_WARNING,
} from '../../core/limits.ts'
import { commandLine, endProcess, type Process, processesOf, RESOLVER_COMMAND } from './processes.ts'
import { countTasks, isTestRunner, largestGroups } from './tasks.ts'

export interface GuardedCall {
  session: string
  tool: string
  input: unknown
  /** Where a command runs. */
  cwd: string
}

export interface GuardianNote {
  rule: 'tasks' | 'repeats' | 'orphans' | 'look'
  action: 'refused' | 'warned' | 'ended'
  /** To the model. */
  detail: string
}

export interface GuardianOptions {
  /** The path of `.resolve`. */
  resolveDir: string
  /** The worker is a container, whose control group counts its tasks. */
  isContainer: boolean
  /** The first warning of each rule is told to consumers. */
  onFirst?: (note: GuardianNote) => void
  now?: () => number
}

/** Tools that may be called again and again, and where too many tasks are left: nothing could be ended otherwise. */
const NOT_REPEATED = new Set(['read', 'jobs', 'todo_list'])
const ALWAYS = new Set(['jobs', 'todo_list'])

export class Guardian {
  readonly #options: GuardianOptions
  /** When each command ran. */
  readonly #ran = new Map<string, number[]>()
  /** Calls under way, and jobs: their processes are no orphans. */
  readonly #alive = new Set<string>()
  readonly #told = new Set<string>()

  constructor(options: GuardianOptions) {
    this.#options = options
  }

  /** What it found. A note with `refused` means that the call must not run. */
  check(call: GuardedCall): GuardianNote[] {
    try {
      const repeat = this.#checkRepeats(call)
      // One look for both rules: it reads the environment of every process of the machine.
      const processes = this.#look()
      const orphans = this.#endOrphans(processes)
      const tasks = this.#checkTasks(call, orphans.length === 0 ? processes : this.#look())
      const notes = [...orphans, ...tasks, ...(repeat === undefined ? [] : [repeat])]
      for (const note of notes) this.#tellOnce(note)
      if (!notes.some(({ action }) => action === 'refused')) this.#remember(call)
      return notes
    } catch (error) {
      const detail = `The guardian could not look: ${error instanceof Error ? error.message : String(error)}`
      const note: GuardianNote = { rule: 'look', action: 'warned', detail }
      return this.#tellOnce(note) ? [note] : []
    }
  }

  /** The processes of this call are not orphans until the returned function is called. */
  enter(mark: string): () => void {
    this.#alive.add(mark)
    return () => this.#alive.delete(mark)
  }

  #look(): Process[] {
    return processesOf(this.#options.resolveDir)
  }

  #checkTasks({ tool }: GuardedCall, processes: readonly Process[]): GuardianNote[] {
    const tasks = countTasks(processes, this.#options.isContainer)
    if (tasks === undefined || tasks <= GUARDIAN_TASKS_WARNING) return []
    const detail = `${tasks} tasks (processes and their threads) are running, of ${GUARDIAN_TASKS_MAX} allowed: ${largestGroups(processes)}.`
    if (tasks <= GUARDIAN_TASKS_MAX || ALWAYS.has(tool)) return [{ rule: 'tasks', action: 'warned', detail }]
    const advice = 'End some with the tool "jobs", then call again.'
    return [{ rule: 'tasks', action: 'refused', detail: `Refused: ${detail} ${advice}` }]
  }

  #checkRepeats(call: GuardedCall): GuardianNote | undefined {
    if (NOT_REPEATED.has(call.tool)) return undefined
    const recent = this.#recent(keyOf(call))
    if (recent.length < GUARDIAN_REPEATS_MAX) return undefined
    const seconds = GUARDIAN_REPEATS_MS / 1_000
    const detail = `Refused: the same call of "${call.tool}" ran ${recent.length} times within ${seconds} s. Its result will not change by itself: do something else, or wait.`
    return { rule: 'repeats', action: 'refused', detail }
  }

  #remember(call: GuardedCall): void {
    if (NOT_REPEATED.has(call.tool)) return
    const key = keyOf(call)
    this.#ran.set(key, [...this.#recent(key), this.#now()])
    if (this.#ran.size > KEYS_MAX)
      for (const one of this.#ran.keys()) if (this.#recent(one).length === 0) this.#ran.delete(one)
  }

  #recent(key: string): number[] {
    const since = this.#now() - GUARDIAN_REPEATS_MS
    return (this.#ran.get(key) ?? []).filter((at) => at > since)
  }

  /** Ends test runners that a call left behind, with their descendants. */
  #endOrphans(processes: readonly Process[]): GuardianNote[] {
    const orphans = processes.filter(
      (one) =>
        one.call !== undefined &&
        !one.call.startsWith(RESOLVER_COMMAND) &&
        !this.#alive.has(one.call) &&
        isTestRunner(one) &&
        one.pid !== process.pid,
    )
    if (orphans.length === 0) return []
    for (const one of withDescendants(orphans, processes)) endProcess(one.pid, 'SIGKILL')
    const named = orphans.map((one) => `${one.pid} "${commandLine(one, 80)}"`).join(', ')
    return [
      { rule: 'orphans', action: 'ended', detail: `Ended test runners that an earlier call left behind: ${named}.` },
    ]
  }

  #tellOnce(note: GuardianNote): boolean {
    const key = `${note.rule} ${note.action}`
    if (this.#told.has(key)) return false
    this.#told.add(key)
    this.#options.onFirst?.(note)
    return true
  }

  #now(): number {
    return this.#options.now?.() ?? Date.now()
  }
}

const KEYS_MAX = 1_000

/** The command, however it is spaced; its limit of time and its description do not make it another one. */
function keyOf({ session, tool, input, cwd }: GuardedCall): string {
  if (tool !== 'shell') return JSON.stringify([session, tool, canonical(input)])
  const { command = '', cwd: where = cwd } = (input ?? {}) as { command?: unknown; cwd?: unknown }
  return JSON.stringify([session, tool, foldSpace(String(command)), where])
}

/** White space outside quotes becomes one space. */
export function foldSpace(command: string): string {
  const parts = command.trim().match(/'[^']*'|"(?:\\.|[^"\\])*"|\\.|\s+|[^\s'"\\]+|['"\\]/gs) ?? []
  return parts.map((part) => (/^\s+$/.test(part) ? ' ' : part)).join('')
}

/** The same for every order of keys. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, one]) => [name, canonical(one)]),
  )
}

function withDescendants(roots: readonly Process[], all: readonly Process[]): Process[] {
  const found = new Map(roots.map((one) => [one.pid, one]))
  for (let before = -1; before < found.size; ) {
    before = found.size
    for (const one of all) if (found.has(one.parent)) found.set(one.pid, one)
  }
  return [...found.values()]
}
