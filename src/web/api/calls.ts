/** The API calls of the page, one function each. They throw a `Problem`. */
import type { BodyOf, ResultOf } from '../../core/protocol/api/operations.ts'
import type { DiffBase } from '../../core/protocol/changes.ts'
import type { FormCheck, Payload } from '../../core/protocol/form.ts'
import { DOOR } from '../../core/protocol/http.ts'
import type { Door, InstanceRecord } from '../../core/protocol/instance.ts'
import type { TranscriptDocument } from '../../core/protocol/session/session.ts'
import type { Status } from '../../core/protocol/status.ts'
import { act, ask, askJson } from './client.ts'
import { jsonOf } from './problem.ts'

export interface Page {
  records: InstanceRecord[]
  /** The cursor of the next page; null on the last page. */
  cursor: string | null
}

export const fetchResolvers = () => askJson('getResolvers', {})
export const fetchResolver = (name: string) => askJson('getResolver', { params: { name } })

/** `waitS`: how many seconds the server waits for a resolver that is being prepared (R48). */
export function checkInput(name: string, input: Payload, signal?: AbortSignal, waitS?: number): Promise<FormCheck> {
  const options = signal === undefined ? {} : { signal }
  const body = { input, ...(waitS === undefined ? {} : { wait: waitS }) }
  return askJson('postResolverCheck', { params: { name }, body, ...options })
}

export async function fetchViewport(name: string): Promise<string> {
  return (await ask('getResolverViewportJs', { params: { name } })).text()
}

export async function createInstance(resolver: string, input: Payload, name: string | null): Promise<InstanceRecord> {
  return await jsonOf('postInstances', await act('postInstances', { body: { resolver, input, name } }))
}

export interface ListWish {
  status?: readonly Status[]
  resolver?: string
  label?: string[]
  name?: string
  since?: string
  until?: string
  text?: string
  order?: 'newest' | 'oldest'
  limit?: number
  cursor?: string
}

export async function fetchInstances({ status, ...wish }: ListWish): Promise<Page> {
  const query = { ...wish, ...(status === undefined ? {} : { status: [...status] }) }
  const response = await ask('getInstances', { query })
  const records = await jsonOf('getInstances', response)
  const [, next] = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '') ?? []
  return { records, cursor: next === undefined ? null : new URL(next, location.href).searchParams.get('cursor') }
}

export type CountWish = Omit<ListWish, 'status' | 'order' | 'limit' | 'cursor'>

export const fetchCounts = (query: CountWish) => askJson('getInstanceCounts', { query })

/** Removes instances that have ended; answers which ones were removed. */
export async function removeEnded(ids: readonly string[]): Promise<string[]> {
  const body = { older_than_ms: 0, instances: [...ids] }
  const { removed } = await jsonOf('postPrune', await act('postPrune', { body }))
  return removed.map(({ instance_id: id }) => id)
}

/** `tail`: the last lines, this many; `after`: those with a greater number. */
export const fetchLogs = (id: string, wish: { tail?: number; after?: number }, signal: AbortSignal) =>
  askJson('getInstanceLogs', { params: { id }, query: { ...wish, limit: 2_000 }, signal })

export const fetchInstance = (id: string) => askJson('getInstance', { params: { id } })
export const fetchStory = (id: string) => askJson('getInstanceStory', { params: { id } })
export const fetchState = (id: string) => askJson('getInstanceState', { params: { id } })
export const fetchMessageTypes = (id: string) => askJson('getInstanceMessageTypes', { params: { id } })
export const fetchMessages = (id: string) => askJson('getInstanceMessages', { params: { id } })
export const fetchDataFiles = (id: string) => askJson('getInstanceData', { params: { id } })
export const fetchInbox = () => askJson('getInbox', {})
export const fetchPending = (id: string) =>
  askJson('getInstanceInputRequests', { params: { id }, query: { status: 'pending' } })

export const fetchDataArchive = (id: string) => ask('getInstanceDataArchive', { params: { id } })

/** Reads a data file, or its first `limit` bytes. `token`: instead of the session's own. */
export function fetchData(
  id: string,
  path: string,
  options: { limit?: number; token?: string } = {},
): Promise<Response> {
  const { limit, token } = options
  const headers: Record<string, string> = limit === undefined ? {} : { range: `bytes=0-${limit - 1}` }
  return ask('getInstanceDataFile', { params: { id, path }, headers, ...(token === undefined ? {} : { token }) })
}

/** `via`: the interface that the journal records (R25). */
export async function answer(id: string, request: string, payload: Payload, via: Door = 'page'): Promise<void> {
  await act('postInstanceInputRequest', { params: { id, rid: request }, body: payload, headers: { [DOOR]: via } })
}

export async function sendMessage(id: string, type: string, payload: Payload, via: Door = 'page'): Promise<void> {
  const body = { message_type: type, payload }
  await act('postInstanceMessages', { params: { id }, body, headers: { [DOOR]: via } })
}

export async function fetchViewportToken(id: string): Promise<string> {
  return (await askJson('postInstanceViewportToken', { params: { id } })).token
}

export async function rename(id: string, name: string | null): Promise<void> {
  await ask('patchInstance', { params: { id }, body: { name } })
}

export async function pause(id: string): Promise<void> {
  await act('postInstancePause', { params: { id } })
}

export async function resume(id: string): Promise<void> {
  await act('postInstanceResume', { params: { id } })
}

export async function stop(id: string, reason: string, force = false): Promise<void> {
  await act('postInstanceStop', { params: { id }, body: { ...(reason === '' ? {} : { reason }), force } })
}

export async function cancel(id: string): Promise<void> {
  await ask('deleteInstance', { params: { id } })
}

export const fetchRepos = (id: string) => askJson('getInstanceRepos', { params: { id } })
export const fetchRepoHistory = (id: string, repo: string) =>
  askJson('getInstanceRepoCommits', { params: { id, repo } })

/** `at`: the number of a snapshot, `pushed`, or '' for the work as it is now. */
export interface DiffWish {
  base: DiffBase
  at: string
}

export function fetchRepoDiff(
  id: string,
  repo: string,
  { base, at, ...more }: DiffWish & { path?: string; patch?: boolean },
  signal?: AbortSignal,
): Promise<ResultOf<'getInstanceRepoDiff'>> {
  const query = { base, ...(at === '' ? {} : { snapshot: at }), ...more }
  return askJson('getInstanceRepoDiff', { params: { id, repo }, query, ...(signal === undefined ? {} : { signal }) })
}

export type PromotionFound = ResultOf<'postInstancePromote'>
type PromotionAsk = NonNullable<BodyOf<'postInstancePromote'>>

/** Looks only: nothing is pushed. */
export function checkPromotion(
  id: string,
  repo: string,
  ask: PromotionAsk,
  signal: AbortSignal,
): Promise<PromotionFound> {
  return askJson('postInstancePromote', { params: { id, repo }, body: { ...ask, dry_run: true }, signal })
}

export async function promote(id: string, repo: string, ask: PromotionAsk): Promise<PromotionFound> {
  return await jsonOf('postInstancePromote', await act('postInstancePromote', { params: { id, repo }, body: ask }))
}

/** `after`: `meta.next` of an earlier answer. */
export async function fetchTranscript(
  id: string,
  session: string,
  after: number,
  signal: AbortSignal,
): Promise<TranscriptDocument> {
  const found = await askJson('getInstanceSessionTranscript', {
    params: { id, sid: session },
    query: { after },
    signal,
  })
  // The other format was not asked for.
  return found as TranscriptDocument
}
