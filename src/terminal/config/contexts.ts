/** Chooses and describes contexts of the config file: for the base command and the context commands (R73). */
import { fail } from '../../core/errors.ts'
import { nearest } from '../../core/primitives/nearest.ts'
import { type Config, type Context, LOCAL } from './config-file.ts'

export interface ListedContext {
  name: string
  /** Null for this machine. */
  url: string | null
  signed_in: boolean
  /** Whether commands use it by default. */
  used: boolean
}

/** Throws `context_unknown`. */
export function contextOf(config: Config, name: string): Context {
  const found = Object.hasOwn(config.contexts, name) ? config.contexts[name] : undefined
  if (found !== undefined) return found
  const meant = nearest(name, [LOCAL, ...Object.keys(config.contexts)])
  throw fail('context_unknown', { name, ...(meant === undefined ? {} : { nearest: meant }) })
}

/** This machine first, then by name. Without tokens. */
export function listContexts({ context = LOCAL, contexts }: Config): ListedContext[] {
  const local = { name: LOCAL, url: null, signed_in: true, used: context === LOCAL }
  const others = Object.entries(contexts).map(([name, { url, token }]) => ({
    ...{ name, url, signed_in: token !== undefined, used: context === name },
  }))
  return [local, ...others.toSorted((a, b) => (a.name < b.name ? -1 : 1))]
}
