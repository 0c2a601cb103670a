/** How many tasks a worker has, as the kernel's limit counts them: threads too (spec, Limits). */
import { readFileSync } from 'node:fs'
import { commandLine, type Process } from './processes.ts'

/** Version 2 and version 1 of control groups. */
const COUNTERS = ['/sys/fs/cgroup/pids.current', '/sys/fs/cgroup/pids/pids.current']

/** undefined where it can't be told: the guardian then allows. `processes`: of the worker. `isContainer`: the control
 * group is the worker's own. */
export function countTasks(processes: readonly Process[], isContainer: boolean): number | undefined {
  if (isContainer) {
    for (const path of COUNTERS) {
      try {
        const count = Number.parseInt(readFileSync(path, 'utf8'), 10)
        if (Number.isSafeInteger(count)) return count
      } catch {
        // The other version, or none.
      }
    }
  }
  return processes.length === 0 ? undefined : processes.reduce((sum, { threads }) => sum + threads, 0)
}

/** The commands that have the most tasks, each with how many. */
export function largestGroups(processes: readonly Process[], most = 5): string {
  const groups = new Map<string, number>()
  for (const one of processes) {
    const name = commandLine(one, 60)
    groups.set(name, (groups.get(name) ?? 0) + one.threads)
  }
  const sorted = [...groups].sort(([, a], [, b]) => b - a).slice(0, most)
  return sorted.map(([name, tasks]) => `${tasks} of "${name}"`).join(', ')
}

/** Whether a process is a program of its own that runs tests; matched on the names of files, never on a part of a text. */
export function isTestRunner({ argv }: Pick<Process, 'argv'>): boolean {
  const [program = '', ...words] = argv
  // Runners that give their process a title.
  if (/^node \((?:vitest|jest|mocha)\b/.test(program)) return true
  const name = fileName(program)
  if (RUNNERS.has(name)) return true
  if (/^python[\d.]*$/.test(name)) return isPythonRunner(words)
  if (name !== 'node' && name !== 'nodejs') return false
  const script = words.findIndex((word) => !word.startsWith('-'))
  const flags = script === -1 ? words : words.slice(0, script)
  if (flags.some((flag) => /^--test(?:$|[-=])/.test(flag))) return true
  return script !== -1 && RUNNERS.has(fileName(words[script] ?? ''))
}

function isPythonRunner(words: readonly string[]): boolean {
  const module = words.indexOf('-m')
  const script = words.findIndex((word) => !word.startsWith('-'))
  if (module !== -1 && (script === -1 || module < script)) return /^(?:pytest|unittest)$/.test(words[module + 1] ?? '')
  return script !== -1 && RUNNERS.has(fileName(words[script] ?? ''))
}

/** `/a/node_modules/vitest/vitest.mjs` is vitest. */
function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).replace(/\.[cm]?js$/, '')
}

const RUNNERS = new Set(['pytest', 'py.test', 'vitest', 'jest', 'mocha', '_mocha'])
