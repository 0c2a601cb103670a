/**
 * Tries a resolver out before it is registered: runs the setup of its container and starts its program once (R48, R52). For `resolver
 * add` and `resolver update`.
 */
import { ResolveError } from '../../core/errors.ts'
import type { CatalogEntry, LocalPlatform } from '../../core/index.ts'
import type { Output } from '../output/output.ts'
import { showPreparation } from './when-prepared.ts'

export interface TryOutWish {
  output: Output
  /** Whether to run the setup of its container. Without it, a resolver that is not prepared is not started. */
  prepare: boolean
  /** Whether to start its program. */
  start: boolean
}

export interface TriedOut {
  warnings: string[]
  /** Why its setup failed. */
  setupFailure?: ResolveError
}

/** Throws what makes the program unusable. Where there is no engine or image, the first use of the resolver prepares it. */
export async function tryOut(platform: LocalPlatform, entry: CatalogEntry, wish: TryOutWish): Promise<TriedOut> {
  const { output } = wish
  const mayPrepare = wish.prepare && hasSetup(entry)
  try {
    if (mayPrepare) await showPreparation((options) => platform.prepareEntry(entry, options), entry.name, { output })
    if (wish.start) await platform.tryStart(entry)
    return { warnings: [] }
  } catch (error) {
    if (!(error instanceof ResolveError)) throw error
    if (error.code === 'setup_failed') return { warnings: [], setupFailure: error }
    if (isNotNow(error)) return { warnings: wish.prepare ? [notUsable(output, entry, error)] : [] }
    if (error.code !== 'resolver_refused') throw error
    const warning = `Asked for its form without any input, it failed: ${String(error.details['detail'] ?? error.message)}`
    output.note(output.paint('yellow', `  ${warning}`))
    return { warnings: [warning] }
  }
}

/** Whether its container has a setup before the resolver can be asked for its form. */
export function hasSetup({ manifest }: CatalogEntry): boolean {
  return (manifest.container?.setup_commands ?? []).length > 0
}

/** Whether it can be prepared later without any change of the resolver. */
export function isNotNow({ code }: ResolveError): boolean {
  return code === 'docker_unreachable' || code === 'image_missing' || code === 'too_many'
}

/** Whether the resolver itself did not answer as it should. */
export function isOfResolver({ code }: ResolveError): boolean {
  return /^resolver_(?:gone|refused|silent|mismatch)$|^form_malformed$|^launch_failed$/.test(code)
}

/** Why it was added and can't run yet: says it, and returns it as a warning. `hint` tells what its machine lacks. */
export function notUsable(
  output: Output,
  entry: CatalogEntry,
  error: ResolveError,
  hint: string | undefined = error.hint,
): string {
  const { name } = entry
  const next = hasSetup(entry) ? 'Its first use prepares it.' : ''
  const what = hasSetup(entry) ? 'is not prepared' : 'cannot run yet'
  const warning = [`${name} ${what}: ${error.message}`, hint, next].filter(Boolean).join(' ')
  output.note(output.paint('yellow', warning))
  return warning
}
