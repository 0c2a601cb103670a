/** GET /inbox: the open input requests of all instances that the caller may see, the oldest first, in one answer. */
import type { InstanceRecord, Platform } from '../../core/index.ts'
import { INBOX_MAX_INSTANCES, INBOX_READS_AT_ONCE } from '../../core/limits.ts'
import type { InboxEntry } from '../../core/protocol/instance.ts'
import { pendingRequests } from '../../core/view/story.ts'
import type { Handlers } from '../request/operations.ts'
import { type AppParts, callerOf } from '../request/parts.ts'

interface Read {
  updated_at: string
  entries: InboxEntry[]
}

export function inboxHandlers({ platform }: AppParts) {
  // Pages ask every two seconds: a journal that has not changed is not read again.
  let before = new Map<string, Read>()
  return {
    getInbox: async ({ request }) => {
      const { instance } = callerOf(request)
      const waiting = await waitingOf(platform, instance)
      const found = new Map<string, Read>()
      for (let at = 0; at < waiting.length; at += INBOX_READS_AT_ONCE) {
        const some = waiting.slice(at, at + INBOX_READS_AT_ONCE)
        for (const [id, read] of await Promise.all(some.map((record) => readOf(platform, record, before)))) {
          found.set(id, read)
        }
      }
      if (instance === null) before = found
      return [...found.values()].flatMap(({ entries }) => entries).sort(byAge)
    },
  } satisfies Partial<Handlers>
}

/** The questions of a lost worker stay open while it is paused (R58). */
async function waitingOf(platform: Platform, instance: string | null): Promise<InstanceRecord[]> {
  const status = ['awaiting_input', 'paused'] as const
  const records =
    instance === null
      ? (await platform.list({ status: [...status], limit: INBOX_MAX_INSTANCES })).records
      : [await platform.record(instance)]
  return records.filter((record) => status.some((one) => one === record.status) && record.pending_inputs > 0)
}

async function readOf(
  platform: Platform,
  { instance_id, updated_at }: InstanceRecord,
  before: ReadonlyMap<string, Read>,
): Promise<[string, Read]> {
  const known = before.get(instance_id)
  if (known?.updated_at === updated_at) return [instance_id, known]
  // An instance that was removed meanwhile, or cannot be read, must not hide the others.
  const story = await platform.story(instance_id).catch(() => undefined)
  if (story === undefined) return [instance_id, { updated_at: '', entries: [] }]
  const { name, resolver } = story.creation
  const entries = pendingRequests(story).map(({ id, prompt, schema, status, asked_at }) => ({
    ...{ instance_id, name, resolver: resolver.name, asked_at },
    request: { id, prompt, schema, status },
  }))
  return [instance_id, { updated_at, entries }]
}

function byAge(one: InboxEntry, other: InboxEntry): number {
  return one.asked_at < other.asked_at ? -1 : one.asked_at > other.asked_at ? 1 : 0
}
