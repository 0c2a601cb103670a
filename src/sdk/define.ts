/** The functional form: `resolver({params, run}).serve()` defines a whole resolver without a class (docs/writing-a-resolver.md). */
import type { Payload } from '../core/protocol/form.ts'
import type { InstanceConfig, MessageType, ResolverResult } from '../core/protocol/instance.ts'
import type { SessionFactory } from '../sessions/contract/contract.ts'
import { type Context, createContext, type MessageListener } from './context.ts'
import { type Fields, form, type ValuesOf, valuesOf } from './forms/fields.ts'
import type { Awaitable, ContainerSetup, ResolverContract, WorkspaceSpec } from './instance/contract.ts'
import type { InstanceContext } from './instance/instance-context.ts'
import { ownManifest } from './own-manifest.ts'
import { serve } from './serve.ts'

/** A message type that consumers may send. */
export interface MessageDefinition<F, C> {
  label: string
  description: string
  fields: F
  /** Whether it may be sent in this state. Default: always. */
  when?: (state: Record<string, unknown>) => boolean
  /** Called for each message, in order. {@link Context.onMessage} handlers are called as well. */
  on?: (payload: ValuesOf<F>, ctx: C) => Awaitable<void>
}

export interface Definition<F extends Fields, P extends string, M extends Record<string, Fields>> {
  /** These three come from the manifest where they are absent. */
  name?: string
  version?: string
  description?: string
  /** From the manifest's `supports_resume` where it is absent. */
  supportsResume?: boolean
  /** The form for a new instance; a function where it depends on the values filled in so far. */
  params?: F | ((filled: Payload) => F)
  /** The names that `ctx.phase` accepts; any name where they are absent. */
  phases?: readonly P[]
  messages?: { [K in keyof M]: MessageDefinition<M[K], Context<ValuesOf<F>, P>> }
  workspace?: (params: ValuesOf<F>, availableCredentials: readonly string[]) => Awaitable<WorkspaceSpec | null>
  container?: (params: ValuesOf<F>) => Awaitable<ContainerSetup | null>
  /** A returned text becomes the output; undefined means completed; a thrown error fails the run. */
  // biome-ignore lint/suspicious/noConfusingVoidType: what an async function without a return gives.
  run: (ctx: Context<ValuesOf<F>, P>) => Awaitable<string | ResolverResult | void>
  /** Called when the platform asks the run to end, in addition to aborting `ctx.signal`. */
  stop?: (reason: string, ctx: Context<ValuesOf<F>, P>) => Awaitable<void>
}

export interface DefinedResolver extends ResolverContract {
  /** Serves on stdin and stdout until the platform ends the process. */
  serve(): void
}

export function resolver<
  const F extends Fields = Record<never, never>,
  const P extends string = string,
  const M extends Record<string, Fields> = Record<never, never>,
>(definition: Definition<F, P, M>): DefinedResolver {
  return new FunctionalResolver(definition)
}

class FunctionalResolver<F extends Fields, P extends string, M extends Record<string, Fields>>
  implements DefinedResolver
{
  readonly name: string
  readonly version: string
  readonly description: string
  readonly supportsResume: boolean
  readonly #definition: Definition<F, P, M>
  readonly #listeners = new Set<MessageListener>()
  #instance: InstanceContext | undefined
  #ctx: Context<ValuesOf<F>, P> | undefined
  #early: (() => Awaitable<void>)[] = []

  constructor(definition: Definition<F, P, M>) {
    const manifest = ownManifest()
    this.#definition = definition
    this.name = definition.name ?? manifest.name ?? 'unnamed'
    this.version = definition.version ?? manifest.version ?? '0.0.0'
    this.description = definition.description ?? manifest.description ?? ''
    this.supportsResume = definition.supportsResume ?? manifest.supports_resume ?? false
  }

  serve(): void {
    serve(this, {
      receive: (instance) => {
        this.#instance = instance
      },
    })
  }

  instantiationSchema(params: Payload | null) {
    return this.#definition.params === undefined ? null : form(this.#fields(params ?? {}))
  }

  async workspaceSpec(params: Payload, availableCredentials: readonly string[]) {
    return (await this.#definition.workspace?.(this.#values(params), availableCredentials)) ?? null
  }

  async containerSetup(params: Payload) {
    return (await this.#definition.container?.(this.#values(params))) ?? null
  }

  messageTypes(state: Record<string, unknown>): MessageType[] {
    return Object.entries(this.#messages())
      .filter(([, message]) => message.when?.(state) ?? true)
      .map(([name, { label, description, fields }]) => ({ name, label, description, schema: form(fields) }))
  }

  async run(config: InstanceConfig, sessions: SessionFactory, _emitter: unknown, resume: boolean) {
    const [instance, listeners] = [this.#instance as InstanceContext, this.#listeners]
    const ctx = createContext<ValuesOf<F>, P>({
      instance,
      params: this.#values(config.params),
      resume,
      sessions,
      listeners,
    })
    this.#ctx = ctx
    for (const deliver of this.#early.splice(0)) await deliver()
    return (await this.#definition.run(ctx)) as ResolverResult | undefined
  }

  onInputResponse(): void {}

  async onMessage(_config: InstanceConfig, type: string, payload: Payload): Promise<void> {
    const ctx = this.#ctx
    if (ctx === undefined) {
      this.#early.push(() => this.onMessage(_config, type, payload))
      return
    }
    for (const listener of [...this.#listeners]) listener(type, payload)
    const message = Object.hasOwn(this.#messages(), type) ? this.#messages()[type] : undefined
    await message?.on?.(valuesOf(message.fields, payload), ctx)
  }

  async stop(reason: string): Promise<void> {
    if (this.#ctx !== undefined) await this.#definition.stop?.(reason, this.#ctx)
  }

  #fields(filled: Payload): F {
    const { params } = this.#definition
    return typeof params === 'function' ? params(filled) : (params ?? ({} as F))
  }

  #values(payload: Payload): ValuesOf<F> {
    return valuesOf(this.#fields(payload), payload)
  }

  #messages(): Record<string, MessageDefinition<Fields, Context<ValuesOf<F>, P>>> {
    return (this.#definition.messages ?? {}) as Record<string, MessageDefinition<Fields, Context<ValuesOf<F>, P>>>
  }
}
