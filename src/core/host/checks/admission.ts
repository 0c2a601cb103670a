/** Whether a call that a worker makes is for this host: it has the token of its instance and the epoch of this host (R40; threats B11). */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { ResolveError } from '../../errors.ts'
import { isObject } from '../../primitives/is-object.ts'

export type CallParams = Readonly<Record<string, unknown>>

export interface Admission {
  /** The token in config.json; a caller that knows it acts for the resolver. */
  token: string
  /** The epoch of this host: a call that was sent to an earlier host is not carried out. */
  epoch: number
}

/**
 * The params of a call that is for this host; undefined where an earlier host was meant, which is gone: the caller sends it again if it still
 * waits. Throws what `refused` makes of a reason.
 */
export function admitted(
  received: unknown,
  { token: own, epoch: current }: Admission,
  refused: (reason: string) => ResolveError,
): CallParams | undefined {
  const params = isObject(received) ? received : {}
  const { token, epoch } = params
  if (typeof token !== 'string' || !isSame(token, own)) throw refused('the token is not this instance’s')
  if (typeof epoch !== 'number') throw refused('"epoch" is missing: it is that of resolver.initialize')
  return epoch === current ? params : undefined
}

/** No reply. A new promise each time, because a shared one would keep every caller in memory. */
export function never(): Promise<never> {
  return new Promise<never>(() => undefined)
}

/** Compares in constant time. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return b !== '' && timingSafeEqual(digest(a), digest(b))
}
