/**
 * A resolver process that only answers questions: the form, and what a creation needs (spec, Resolver plugin contract;
 * docs/threats.md 1.2).
 */
import { fail, ResolveError, systemCode } from '../../errors.ts'
import { pacedFormRefusal } from '../../form-check/form-check.ts'
import { parseForm } from '../../forms/parse-form.ts'
import { type SplitPayload, splitSecrets, textsIn } from '../../forms/secret-fields.ts'
import { isObject } from '../../primitives/is-object.ts'
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { Form, FormCheck, Payload } from '../../protocol/form.ts'
import type { HostCall, HostCalls } from '../../protocol/methods.ts'
import { redactorOf } from '../../redaction/redact.ts'
import type { Channel } from '../../rpc/channel.ts'
import { byHand } from '../../worker/local/by-hand.ts'
import { crashSummary } from '../launch/crash-summary.ts'
import { ResolverCalls } from '../launch/resolver-calls.ts'
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

/** What messages about it need. */
type AskedResolver = Pick<CatalogEntry, 'name' | 'dir' | 'manifest'>

export interface AdmittedInput {
  split: SplitPayload
  spec: Record<string, unknown> | null
}

/** The caller closes it after use. */
export class Inquiry implements Keepable {
  readonly #entry: AskedResolver
  readonly #resolver: RunningResolver
  readonly #calls: ResolverCalls
  #isOver = false
  /** What the resolver told of itself so far (R52). */
  #told: Record<string, unknown> = {}
  /** The texts of the secret fields of the input that is being admitted. */
  #secrets: readonly string[] = []
  #split: SplitPayload | undefined

  constructor(entry: AskedResolver, resolver: RunningResolver) {
    this.#entry = entry
    this.#resolver = resolver
    this.#calls = new ResolverCalls(resolver.channel, {
      epoch: 0,
      onIdentity: (told) => {
        this.#told = isObject(told) ? told : {}
      },
    })
  }

  /** Whether it has ended, hangs or was closed. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The input that was to be admitted, without its secret fields; undefined before its form is known. */
  get split(): SplitPayload | undefined {
    return this.#split
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
    const { errors = [], fields = [] } = (await pacedFormRefusal(form, input)) ?? {}
    return { form, errors: [...errors], fields: [...fields] }
  }

  /**
   * Accepts an input for a new instance and returns it without its secret fields, and its workspace spec; null for none. Both calls are made anew, because
   * their answers may depend on the time, the network or other files. Throws `form_invalid`, and like {@link form}.
   */
  async admit(input: Payload, credentials: readonly string[]): Promise<AdmittedInput> {
    const form = await this.form(input)
    const split = splitSecrets(form, input)
    this.#split = split
    this.#secrets = textsIn(split.secret)
    const refusal = await pacedFormRefusal(form, input)
    if (refusal !== undefined) throw refusal
    const params = { params: input, available_credentials: [...credentials] }
    const answer = await this.#ask('resolver.getWorkspaceSpec', params)
    return { split, spec: typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : null }
  }

  /** Throws `resolver_mismatch` where the resolver told something else of itself than its manifest says (R52). */
  checkIdentity(): void {
    const { name, version, supports_resume = false } = this.#entry.manifest
    for (const [field, expected] of Object.entries({ name, version, supports_resume })) {
      const told = this.#told[field]
      if (typeof told !== typeof expected || told === expected) continue
      throw fail('resolver_mismatch', {
        field,
        resolver: String(told).slice(0, SHOWN_MAX_CHARS),
        expected: String(expected),
      })
    }
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
    if (!(error instanceof ResolveError)) return error
    if (error.code === 'resolver_silent') {
      const limit_ms = Number(error.details['limit_ms'])
      return fail('resolver_silent', { method, limit_ms, ...this.#shown() }, { cause: error })
    }
    if (error.code !== 'connection_closed') return error
    const launchError = this.#resolver.launchError?.()
    if (launchError !== undefined) {
      const command = this.#entry.manifest.command.join(' ')
      const reason =
        systemCode(launchError) === 'ENOENT' ? 'the program or its directory does not exist' : launchError.message
      return fail('launch_failed', { command, reason }, { cause: launchError })
    }
    return fail('resolver_gone', { method, ...this.#shown() }, { cause: error })
  }

  /** What its author needs: what it printed, and the command to run it without the platform. */
  #shown(): { detail: string; by_hand: string } {
    const { dir, manifest } = this.#entry
    const stderr = this.#resolver.stderr()
    const detail = crashSummary(stderr, dir) ?? stderr.trim().split('\n').slice(-LINES_SHOWN).join(' ').trim()
    return { detail, by_hand: byHand(dir, manifest.command) }
  }
}

const LINES_SHOWN = 3
const SHOWN_MAX_CHARS = 100

/** The same error without the texts: a resolver may print what it was given and fail. */
export function withoutTexts(error: unknown, texts: readonly string[]): unknown {
  if (!(error instanceof ResolveError) || texts.length === 0) return error
  const details = redactorOf(texts).value(error.details)
  return details === error.details ? error : new ResolveError(error.code, details)
}
