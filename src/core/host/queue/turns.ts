/** Decides which waiting instances may start, and the place of the others. Pure; {@link file://./home-queue.ts} calls it. */
import type { QueuePlace } from '../../protocol/instance.ts'

/** An instance that waits for its turn. */
export interface Waiting {
  id: string
  resolver: string
  /** `max_running` of its manifest. */
  maxRunning: number | undefined
  /** When it began to wait: ISO-8601 UTC. */
  since: string
}

/** The instances of a home that have a worker, or wait for one. */
export interface Standing {
  running: readonly { id: string; resolver: string }[]
  waiting: readonly Waiting[]
}

/** `start`, or where an instance waits. */
export type Turn = 'start' | Omit<QueuePlace, 'since'>

/**
 * The turn of every waiting instance: the oldest first, as many as the bounds allow. An instance that waits for its resolver's bound does
 * not hold back those of other resolvers. Without `maxRunning` only the resolvers' bounds apply.
 */
export function turnsOf({ running, waiting }: Standing, maxRunning: number | undefined): Map<string, Turn> {
  const ofResolver = new Map<string, number>()
  let all = 0
  const count = (resolver: string) => {
    all += 1
    ofResolver.set(resolver, (ofResolver.get(resolver) ?? 0) + 1)
  }
  for (const { resolver } of running) count(resolver)
  const turns = new Map<string, Turn>()
  let position = 0
  for (const one of waiting.toSorted(byAge)) {
    const isResolverFull = one.maxRunning !== undefined && (ofResolver.get(one.resolver) ?? 0) >= one.maxRunning
    const isHomeFull = maxRunning !== undefined && all >= maxRunning
    if (isResolverFull || isHomeFull) {
      position += 1
      const [bound, limit] = isResolverFull ? ['resolver' as const, one.maxRunning] : ['home' as const, maxRunning]
      turns.set(one.id, { position, bound, limit: limit ?? 0 })
    } else {
      count(one.resolver)
      turns.set(one.id, 'start')
    }
  }
  return turns
}

function byAge(one: Waiting, other: Waiting): number {
  if (one.since !== other.since) return one.since < other.since ? -1 : 1
  return one.id < other.id ? -1 : 1
}

/** Each change of the first places is told; further back only a change by a fifth, so that a long queue fills no journal. */
const PLACES_TOLD = 5
const SHRUNK = 0.8

/** Whether the place differs so much from the one told last that it is told again. */
export function isNews(told: Omit<QueuePlace, 'since'> | null | undefined, now: Omit<QueuePlace, 'since'>): boolean {
  if (told == null || told.bound !== now.bound || told.limit !== now.limit) return true
  if (now.position >= told.position) return false
  return now.position <= PLACES_TOLD || now.position <= told.position * SHRUNK
}
