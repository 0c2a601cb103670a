/** Asks a resolver for its form and its workspace spec, in a short-lived process or container without secrets (threats, Who is trusted). */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fail, ResolveError, systemCode } from '../../errors.ts'
import { parseForm } from '../../forms/parse-form.ts'
import { INQUIRIES_AT_ONCE, INQUIRIES_WAITING, RPC_FRAME_MAX_BYTES, STDERR_TAIL_BYTES } from '../../limits.ts'
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { Form, Payload } from '../../protocol/form.ts'
import type { HostCall, HostCalls } from '../../protocol/methods.ts'
import type { Channel } from '../../rpc/channel.ts'
import { LineSplitter } from '../../rpc/lines.ts'
import { workerEnvironment } from '../../worker/local/environment.ts'
import { freshProcesses } from '../../worker/local/process-table.ts'
import { processesOf, signalAll } from '../../worker/local/process-tree.ts'
import { ResolverCalls } from '../launch/resolver-calls.ts'
import { ConcurrencyLimiter } from './concurrency-limiter.ts'

/** Anybody who may read can ask: what that starts is bounded, and a resolver that hangs keeps no other's callers waiting. */
export const inquiryLimiter = new ConcurrencyLimiter('questions to one resolver', {
  atOnce: INQUIRIES_AT_ONCE,
  waiting: INQUIRIES_WAITING,
})

/** Where the questions go: a resolver that runs and does nothing else. */
interface FormSource {
  channel: Channel
  /** The last it wrote to stderr. */
  stderr(): string
  /** Why its program could not be started. */
  launchError(): Error | undefined
  close(): Promise<void>
}

/** A resolver that only answers questions. Close it. */
export class Inquiry {
  readonly #entry: CatalogEntry
  readonly #formSource: FormSource
  readonly #calls: ResolverCalls
  #isOver = false

  constructor(entry: CatalogEntry, formSource: FormSource) {
    this.#entry = entry
    this.#formSource = formSource
    this.#calls = new ResolverCalls(formSource.channel, { epoch: 0 })
  }

  /** Whether nobody answers any more. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The form for these params; null for none (R44). Throws `form_malformed` where it is not one (R30). */
  async form(params: Payload | null): Promise<Form | null> {
    const answer = await this.#ask('resolver.getInstantiationSchema', { params })
    if (answer === null) return null
    const parsed = parseForm(answer)
    if (parsed.form !== null) return parsed.form
    throw fail('form_malformed', { where: `form of ${this.#entry.name}`, errors: parsed.errors })
  }

  /** The workspace spec as it was answered; null for none. */
  async workspaceSpec(params: Payload, credentials: string[]): Promise<Record<string, unknown> | null> {
    const answer = await this.#ask('resolver.getWorkspaceSpec', { params, available_credentials: credentials })
    return typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : null
  }

  async close(): Promise<void> {
    this.#isOver = true
    await this.#formSource.close()
  }

  async #ask<M extends HostCall>(method: M, params: HostCalls[M]['params']): Promise<unknown> {
    try {
      return await this.#calls.ask(method, params)
    } catch (error) {
      if (error instanceof ResolveError && error.code !== 'resolver_refused') this.#isOver = true
      throw this.#explain(error, method)
    }
  }

  #explain(error: unknown, method: string): unknown {
    if (!(error instanceof ResolveError) || error.code !== 'connection_closed') return error
    const launchError = this.#formSource.launchError()
    if (launchError !== undefined) {
      const command = this.#entry.manifest.command.join(' ')
      const reason =
        systemCode(launchError) === 'ENOENT' ? 'the program or its directory does not exist' : launchError.message
      return fail('launch_failed', { command, reason }, { cause: launchError })
    }
    const { dir, manifest } = this.#entry
    // With the Node that runs it here: the person's own may be too old for its TypeScript.
    const command = manifest.command.map((word, at) => (at === 0 && word === 'node' ? process.execPath : word))
    const byHand = `cd ${dir} && ${command.join(' ')}`
    return fail(
      'resolver_gone',
      { method, detail: lastWords(this.#formSource.stderr()), by_hand: byHand },
      { cause: error },
    )
  }
}

/** What a program that failed said of it: the place and the error of a stack trace, or the last lines of anything else. */
function lastWords(stderr: string): string {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
  const error = lines.find((line) => /^(Uncaught )?[A-Z][\w.]*(Error|Exception)\b.*:/.test(line))
  if (error === undefined) return lines.slice(-3).join(' ')
  const place = lines.find(
    (line) => /^(file:\/\/)?\/\S+:\d+$/.test(line) || /^at .*\(?(file:\/\/)?\/\S+:\d+/.test(line),
  )
  return place === undefined ? error : `${error} (${place.replace(/^at /, 'at ')})`
}

/** A resolver as a process of this machine. */
export function openLocalInquiry(entry: CatalogEntry): Inquiry {
  return new Inquiry(entry, new ChildFormSource(entry))
}

class ChildFormSource implements FormSource {
  readonly channel: Channel
  readonly #child: ChildProcessWithoutNullStreams
  readonly #mark = randomBytes(12).toString('hex')
  #stderr = ''
  #launchError: Error | undefined

  constructor(entry: CatalogEntry) {
    const [command = '', ...args] = entry.manifest.command
    this.#child = spawn(command, args, {
      cwd: entry.dir,
      env: { ...workerEnvironment(), RESOLVE_INQUIRY: this.#mark },
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#child.on('error', (error) => {
      this.#launchError = error
    })
    // So it is where this process may open no more files: the child has no pipes then, and never had a process.
    if (this.#child.stderr === undefined) {
      throw fail('launch_failed', { command: entry.manifest.command.join(' '), reason: 'too many files are open' })
    }
    this.#child.stderr.on('data', (bytes: Buffer) => {
      this.#stderr = (this.#stderr + bytes.toString('utf8')).slice(-STDERR_TAIL_BYTES)
    })
    this.channel = new ChildChannel(this.#child)
  }

  stderr(): string {
    return this.#stderr
  }

  launchError(): Error | undefined {
    return this.#launchError
  }

  async close(): Promise<void> {
    const leader = this.#child.exitCode === null && this.#child.signalCode === null ? (this.#child.pid ?? 0) : 0
    const table = await freshProcesses()
    signalAll(processesOf({ leader, variable: `RESOLVE_INQUIRY=${this.#mark}` }, table), 'SIGKILL')
    this.#child.stdin.destroy()
    this.#child.stdout.destroy()
    this.#child.stderr.destroy()
    this.#child.unref()
  }
}

class ChildChannel implements Channel {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #splitter = new LineSplitter(RPC_FRAME_MAX_BYTES)

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child
    // A resolver that ends early closes its stdin: the call that waits says so.
    child.stdin.on('error', () => {})
  }

  send(line: string): void {
    this.#child.stdin.write(`${line}\n`)
  }

  onLine(listener: (line: string) => void): void {
    this.#child.stdout.on('data', (bytes: Buffer) => {
      for (const line of this.#splitter.push(bytes)) listener(line.bytes === null ? '' : line.bytes.toString('utf8'))
    })
  }

  onClose(listener: () => void): void {
    this.#child.on('error', listener)
    this.#child.on('close', listener)
  }

  close(): void {
    this.#child.stdin.destroy()
  }
}
