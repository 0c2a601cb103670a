/** The options and results of `prune` and `doctor`. */

import { PRUNE_MAX_NAMED } from '../../limits.ts'
import {
  closed,
  count,
  flag,
  integer,
  listOf,
  named,
  nullable,
  object,
  oneOf,
  optional,
  text,
  time,
} from '../../schema/schema.ts'
import { instanceId } from '../instance.ts'
import { STATUSES } from '../status.ts'

export const pruneOptions = closed({
  older_than_ms: integer({ minimum: 0, description: 'Only instances that ended at least this long ago' }),
  status: optional(
    listOf(oneOf(STATUSES), {
      description: 'Only instances with these statuses; one that has not ended is never removed',
    }),
  ),
  instances: optional(
    listOf(instanceId(), { maxItems: PRUNE_MAX_NAMED, description: 'Only these instances, by their ids' }),
  ),
  keep_unpromoted: optional(flag({ description: 'Keep instances with work that was not promoted' })),
  dry_run: optional(flag({ description: 'List what would be removed, without removing it' })),
})

export const pruned = object({
  instance_id: instanceId(),
  name: nullable(text()),
  resolver: text(),
  status: oneOf(STATUSES),
  ended_at: time(),
  bytes: count(),
  unpromoted: optional(
    listOf(text(), { description: 'Repositories with work that was not promoted: pushed, or only changed' }),
  ),
})

export const pruneOutcome = named(
  'PruneOutcome',
  object({
    dry_run: flag(),
    removed: listOf(pruned),
    /** Leftovers of killed removals and creations. */
    leftovers: object({ count: count(), bytes: count() }),
  }),
)

/** A note stops nothing; a `mended` row was a failure that `doctor --fix` repaired. */
export const HEALTH_STATES = ['ok', 'note', 'failed', 'mended'] as const

export const healthRow = named(
  'HealthRow',
  object({
    /** Which check: `node`, `home`, `disk`, `catalog`, `resolver`, … */
    check: text(),
    state: oneOf(HEALTH_STATES),
    message: text(),
    mend: nullable(text(), {
      description: 'The command that repairs it; null where no repair is needed or possible',
    }),
  }),
)
