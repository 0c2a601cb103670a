/**
 * GET /instances: a page of instances in the order of their creation, with a link to the next page; or the one that a reference means (R3,
 * R9).
 */
import type { FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import {
  fitsNarrowing,
  type InstancePage,
  type InstanceRecord,
  type Narrowing,
  type Platform,
  type Status,
} from '../../core/index.ts'
import { INSTANCE_PREFIX_MIN_CHARS, PAGE_DEFAULT_RECORDS } from '../../core/limits.ts'
import type { QueryOf } from '../../core/protocol/api/operations.ts'
import { isStatus, STATUSES } from '../../core/protocol/status.ts'
import type { Handlers } from '../request/operations.ts'
import { type AppParts, callerOf } from '../request/parts.ts'

type Query = QueryOf<'getInstances'>

export function listHandlers({ platform }: AppParts) {
  return {
    getInstances: async ({ query, request, reply }) => {
      const { instance } = callerOf(request)
      if (query.reference !== undefined) return [await referred(platform, query.reference, instance)]
      const narrowing = narrowingOf(query)
      const page = instance === null ? await pageOf(platform, query, narrowing) : await only(platform, instance)
      if (page.cursor !== null) reply.header('link', `<${nextUrl(request, page.cursor)}>; rel="next"`)
      return page.records.filter((record) => fitsNarrowing(record, narrowing))
    },

    getInstanceCounts: async ({ query, request }) => {
      const { instance } = callerOf(request)
      const narrowing = narrowingOf(query)
      if (instance === null) return platform.counts(narrowing)
      const record = await platform.record(instance)
      return fitsNarrowing(record, narrowing) ? { [record.status]: 1 } : {}
    },
  } satisfies Partial<Handlers>
}

async function pageOf(platform: Platform, query: Query, narrowing: Narrowing): Promise<InstancePage> {
  const { limit = PAGE_DEFAULT_RECORDS, cursor, order } = query
  if (cursor !== undefined && !CURSOR.test(cursor)) throw fail('cursor_unknown', { cursor: cursor.slice(0, 80) })
  return platform.list({
    ...narrowing,
    limit,
    ...(order === 'oldest' ? { oldestFirst: true } : {}),
    ...(cursor === undefined ? {} : { cursor }),
  })
}

function narrowingOf({ status, resolver, name, label, since, until, text }: Partial<Query>): Narrowing {
  const statuses = statusesOf(status)
  return {
    ...(statuses === undefined ? {} : { status: statuses }),
    ...(resolver === undefined ? {} : { resolver }),
    ...(name === undefined ? {} : { name }),
    ...(label === undefined ? {} : { labels: label }),
    ...(since === undefined ? {} : { since: timeOf('since', since) }),
    ...(until === undefined ? {} : { until: timeOf('until', until) }),
    ...(text === undefined ? {} : { text }),
  }
}

function timeOf(name: string, given: string): string {
  const ms = Date.parse(given)
  if (Number.isNaN(ms)) throw fail('request_invalid', { problem: `${name} is not an ISO-8601 time` })
  return new Date(ms).toISOString()
}

const CURSOR = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\|[0-9a-f]{12}$/

/** The instances that a token of one instance may see (WEB-12). */
async function only(platform: Platform, instance: string): Promise<InstancePage> {
  return { records: [await platform.record(instance)], cursor: null }
}

async function referred(platform: Platform, reference: string, instance: string | null): Promise<InstanceRecord> {
  if (instance === null) return platform.record(await platform.find(reference))
  const record = await platform.record(instance)
  const isPrefix = reference.length >= INSTANCE_PREFIX_MIN_CHARS && instance.startsWith(reference)
  if (reference === '@last' || isPrefix || record.name === reference) return record
  throw fail('instance_unknown', { id: reference })
}

function statusesOf(given: string[] | undefined): Status[] | undefined {
  return given
    ?.flatMap((text) => text.split(','))
    .map((word) => {
      if (isStatus(word)) return word
      throw fail('request_invalid', {
        problem: `"${word.slice(0, 40)}" is no status; it is one of ${STATUSES.join(', ')}`,
      })
    })
}

/** The same list from the cursor on. */
function nextUrl({ url }: FastifyRequest, cursor: string): string {
  const [path, text = ''] = url.split('?', 2)
  const query = new URLSearchParams(text)
  query.set('cursor', cursor)
  return `${path}?${query}`
}
