/**
 * A resolver process that only answers questions: the form, and what a creation needs (spec, Resolver plugin contract;
 * docs/threats.md 1.2).
 */
import { fail, ResolveError, systemCode } from '../../errors.ts'
import { formRefusal } from '../../form-check/form-check.ts'
import { parseForm } from '../../forms/parse-form.ts'
import { splitSecrets, textsIn } from '../../forms/secret-fields.ts'
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { Form, FormCheck, Payload } from '../../protocol/form.ts'
import type { HostCall, HostCalls } from '../../protocol/methods.ts'
import type { Channel } from '../../rpc/channel.ts'
import { ResolverCalls } from '../launch/resolver-calls.ts'
import { redactorOf } from '../ledger/redact.ts'
import type { Keepable } from './ref-counted-pool.ts'

/** A process or a container that runs the resolver, without secrets and without an instance. */
export interface RunningResolver {
  channel: Channel
  /** The end of its stderr. */
  stderr(): string
  /** Why its program could not be started, if it is a process. */
  launchError?(): Error | undefined
  close(): Promise<void>
}

export interface Admission {
  form: Form | null
  spec: Record<string, unknown> | null
}

/** The caller closes it after use. */
export class Inquiry implements Keepable {
  readonly #entry: CatalogEntry
  readonly #resolver: RunningResolver
  readonly #calls: ResolverCalls
  #isOver = false
  /** The texts of the secret fields of the input that is being admitted. */
  #secrets: readonly string[] = []

  constructor(entry: CatalogEntry, resolver: RunningResolver) {
    this.#entry = entry
    this.#resolver = resolver
    this.#calls = new ResolverCalls(resolver.channel, { epoch: 0 })
  }

  /** Whether it has ended, hangs or was closed. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The form for these params; null for none (R44). Throws `form_malformed` for an invalid form (R30). */
  async form(params: Payload | null): Promise<Form | null> {
    const answer = await this.#ask('resolver.getInstantiationSchema', { params })
    if (answer === null) return null
    const parsed = parseForm(answer)
    if (parsed.form !== null) return parsed.form
    throw fail('form_malformed', { where: `form of ${this.#entry.name}`, errors: parsed.errors })
  }

  /** The form for this input (R10), and every failing check of the input (R35). Throws like {@link form}. */
  async check(input: Payload): Promise<FormCheck> {
    const form = await this.form(input)
    const { errors = [], fields = [] } = formRefusal(form, input) ?? {}
    return { form, errors: [...errors], fields: [...fields] }
  }

  /**
   * Accepts an input for a new instance and returns its form and its workspace spec; null for none. Both calls are made anew, because
   * their answers may depend on the time, the network or other files. Throws `form_invalid`, and like {@link form}.
   */
  async admit(input: Payload, credentials: readonly string[]): Promise<Admission> {
    const form = await this.form(input)
    this.#secrets = textsIn(splitSecrets(form, input).secret)
    const refusal = formRefusal(form, input)
    if (refusal !== undefined) throw refusal
    const params = { params: input, available_credentials: [...credentials] }
    const answer = await this.#ask('resolver.getWorkspaceSpec', params)
    return { form, spec: typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : null }
  }

  async close(): Promise<void> {
    this.#isOver = true
    await this.#resolver.close()
  }

  async #ask<M extends HostCall>(method: M, params: HostCalls[M]['params']): Promise<unknown> {
    try {
      return await this.#calls.ask(method, params)
    } catch (error) {
      if (error instanceof ResolveError && error.code !== 'resolver_refused') this.#isOver = true
      throw withoutTexts(this.#explain(error, method), this.#secrets)
    }
  }

  #explain(error: unknown, method: string): unknown {
    if (!(error instanceof ResolveError) || error.code !== 'connection_closed') return error
    const launchError = this.#resolver.launchError?.()
    if (launchError !== undefined) {
      const command = this.#entry.manifest.command.join(' ')
      const reason =
        systemCode(launchError) === 'ENOENT' ? 'the program or its directory does not exist' : launchError.message
      return fail('launch_failed', { command, reason }, { cause: launchError })
    }
    const { dir, manifest } = this.#entry
    // Uses the Node that runs this program: the one on the user's PATH may be too old for TypeScript.
    const command = manifest.command.map((word, at) => (at === 0 && word === 'node' ? process.execPath : word))
    const byHand = `cd ${dir} && ${command.join(' ')}`
    return fail(
      'resolver_gone',
      { method, detail: summaryOf(this.#resolver.stderr()), by_hand: byHand },
      { cause: error },
    )
  }
}

/** A resolver may print what it was given and fail. */
function withoutTexts(error: unknown, texts: readonly string[]): unknown {
  if (!(error instanceof ResolveError) || texts.length === 0) return error
  const details = redactorOf(texts).value(error.details)
  return details === error.details ? error : new ResolveError(error.code, details)
}

/** The cause of a failure in a program's output: place and error of a stack trace, else the last lines. */
function summaryOf(stderr: string): string {
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
