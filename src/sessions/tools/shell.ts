/** The tools shell and jobs: commands, some in the background. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import {
  SESSION_OUTPUTS_MAX_BYTES,
  TOOL_JOB_LIMIT_MS,
  TOOL_JOB_LONGEST_MS,
  TOOL_JOBS_MAX,
  TOOL_SHELL_LIMIT_MS,
  TOOL_SHELL_LONGEST_MS,
} from '../../core/limits.ts'
import type { Redactor } from '../../core/redaction/redact.ts'
import { flag, number, object, optional, type Static, text } from '../../core/schema/schema.ts'
import type { Guardian } from '../guardian/guardian.ts'
import { commandLine, processesOfCall } from '../guardian/processes.ts'
import { OutputSink } from './output-sink.ts'
import type { Place } from './place.ts'
import { type Ended, endCommand, runCommand } from './run-command.ts'
import { type Call, mistaken, type Tool, type ToolOutput, told } from './tool.ts'

export interface ShellParts {
  place: Place
  guardian: Guardian
  redactor: Redactor
  /** The id of the session. */
  session: string
  resolveDir: string
  outputs: string
  /** Ends jobs with the session. */
  signal: AbortSignal
}

interface Job {
  id: string
  command: string
  mark: string
  sink: OutputSink
  startedAt: number
  ended: Ended | undefined
  stop: AbortController
  over: Promise<void>
}

const shellInput = object({
  command: text({ minLength: 1, description: 'Run by bash. There is no terminal and no input' }),
  cwd: optional(text({ description: 'Default: the working directory' })),
  timeout_seconds: optional(
    number({
      minimum: 1,
      description: `Default ${TOOL_SHELL_LIMIT_MS / 1_000}, at most ${TOOL_SHELL_LONGEST_MS / 1_000}`,
    }),
  ),
  background: optional(flag({ description: 'Returns at once; see the tool jobs. For servers and long builds' })),
  description: optional(text()),
})

const jobsInput = object({
  action: text({ enum: ['list', 'read', 'end'] }),
  id: optional(text({ description: 'Of a job; for read and end' })),
})

/** Both tools of one session share its jobs. */
export class Shell {
  readonly #parts: ShellParts
  readonly #jobs = new Map<string, Job>()
  #keptBytes = 0
  #count = 0

  constructor(parts: ShellParts) {
    this.#parts = parts
  }

  tools(): Tool[] {
    return [
      {
        name: 'shell',
        description: 'Runs a command with bash and gives what it printed and its exit code.',
        input: shellInput,
        effect: 'runs',
        run: (input, call) => this.#run(input as Static<typeof shellInput>, call),
      },
      {
        name: 'jobs',
        description: 'Lists commands in the background, reads what one printed, or ends one.',
        input: jobsInput,
        effect: 'reads',
        run: (input) => this.#manage(input as Static<typeof jobsInput>),
      },
    ]
  }

  /** Ends every process that the session started. */
  async close(): Promise<void> {
    for (const job of this.#jobs.values()) job.stop.abort()
    await Promise.all([...this.#jobs.values()].map(({ over }) => over))
  }

  async #run(input: Static<typeof shellInput>, call: Call): Promise<ToolOutput> {
    const { place, session } = this.#parts
    const cwd = input.cwd === undefined ? { path: place.cwd } : place.find(input.cwd, 'read')
    if ('refused' in cwd) return mistaken(cwd.refused)
    if (!statSync(cwd.path, { throwIfNoEntry: false })?.isDirectory())
      return mistaken(`There is no directory ${cwd.path}.`)
    const isJob = input.background === true
    const [usual, longest] = isJob
      ? [TOOL_JOB_LIMIT_MS, TOOL_JOB_LONGEST_MS]
      : [TOOL_SHELL_LIMIT_MS, TOOL_SHELL_LONGEST_MS]
    const limitMs = Math.min(longest, (input.timeout_seconds ?? usual / 1_000) * 1_000)
    // A job lives longer than its call: each command has a mark of its own.
    this.#count += 1
    const mark = `${session}:${process.pid}:${this.#count}`
    const sink = new OutputSink(this.#fileFor(call.id), SESSION_OUTPUTS_MAX_BYTES - this.#keptBytes)
    if (isJob) return await this.#begin(input.command, cwd.path, mark, sink, limitMs)
    const ended = await this.#command(input.command, cwd.path, mark, sink, limitMs, call.signal)
    call.signal.throwIfAborted()
    const said = [sink.text().trimEnd(), endLine(ended, limitMs), this.#leftRunning(mark)].filter((one) => one !== '')
    const isError = ended.ended !== undefined || ended.code !== 0
    return { text: said.join('\n'), ...(isError ? { isError } : {}) }
  }

  async #command(command: string, cwd: string, mark: string, sink: OutputSink, limitMs: number, signal: AbortSignal) {
    const { guardian, resolveDir } = this.#parts
    const leave = guardian.enter(mark)
    try {
      return await runCommand({ command, cwd, mark, sink, limitMs, signal, resolveDir })
    } finally {
      leave()
      sink.close(this.#parts.redactor)
      this.#keptBytes += sink.keptBytes
    }
  }

  async #begin(command: string, cwd: string, mark: string, sink: OutputSink, limitMs: number): Promise<ToolOutput> {
    const running = [...this.#jobs.values()].filter(({ ended }) => ended === undefined)
    if (running.length >= TOOL_JOBS_MAX) return mistaken(`${running.length} jobs are running. End one first.`)
    const id = `job-${this.#jobs.size + 1}`
    const stop = new AbortController()
    const signal = AbortSignal.any([stop.signal, this.#parts.signal])
    const job: Job = { id, command, mark, sink, startedAt: Date.now(), ended: undefined, stop, over: Promise.resolve() }
    this.#jobs.set(id, job)
    job.over = this.#command(command, cwd, mark, sink, limitMs, signal).then(
      (ended) => {
        job.ended = ended
      },
      (error: unknown) => {
        sink.push(Buffer.from(`[${error instanceof Error ? error.message : String(error)}]\n`))
        job.ended = { code: null, signal: null, ended: 'stop' }
      },
    )
    return told(
      `Started ${id}. Read it with jobs {"action": "read", "id": "${id}"}; it is ended after ${limitMs / 1_000} s.`,
    )
  }

  async #manage({ action, id }: Static<typeof jobsInput>): Promise<ToolOutput> {
    if (action === 'list') return told([...this.#jobs.values()].map(lineOf).join('\n') || 'There are no jobs.')
    const job = this.#jobs.get(id ?? '')
    if (job === undefined) return mistaken(`There is no job "${id ?? ''}". ${[...this.#jobs.keys()].join(', ')}`)
    if (action === 'read') return told(`${lineOf(job)}\n${job.sink.text()}`)
    job.stop.abort()
    await job.over
    await endCommand(undefined, job.mark, this.#parts.resolveDir)
    return told(`Ended ${job.id}.\n${job.sink.text()}`)
  }

  #leftRunning(mark: string): string {
    const left = processesOfCall(this.#parts.resolveDir, mark)
    if (left.length === 0) return ''
    const named = left.slice(0, 5).map((one) => `${one.pid} "${commandLine(one, 80)}"`)
    return `[still running: ${named.join(', ')}${left.length > 5 ? ` and ${left.length - 5} more` : ''}]`
  }

  #fileFor(call: string): string {
    return join(this.#parts.outputs, `${call.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 80)}-${this.#count}.txt`)
  }
}

function endLine({ code, signal, ended }: Ended, limitMs: number): string {
  if (ended === 'limit') return `[ended after ${limitMs / 1_000} s with everything that it started]`
  if (ended === 'stop') return '[ended]'
  if (signal !== null) return `[ended by ${signal}]`
  return code === 0 ? '[exit code 0]' : `[exit code ${code}]`
}

function lineOf({ id, command, ended, startedAt, sink }: Job): string {
  const age = Math.round((Date.now() - startedAt) / 1_000)
  const state = ended === undefined ? `running for ${age} s` : endLine(ended, TOOL_JOB_LIMIT_MS).slice(1, -1)
  return `${id}: ${state}, ${sink.bytes} bytes printed: ${command.replace(/\s+/g, ' ').slice(0, 120)}`
}
