/** The API calls of the page, one function each. They throw a `Problem`. */
import type { FormCheck, Payload } from '../../core/protocol/form.ts'
import type { DataFile, InputRequest, InstanceRecord, MessageType, SentMessage } from '../../core/protocol/instance.ts'
import type { Manifest } from '../../core/protocol/manifest.ts'
import type { Status } from '../../core/protocol/status.ts'
import type { Story } from '../../core/view/story.ts'
import { act, ask, askJson } from './client.ts'

/** An entry of the catalog, as the API returns it. */
export interface Resolver {
  name: string
  version: string
  description: string
  supports_resume: boolean
  kind: 'builtin' | 'directory' | 'git'
  source: string | null
  commit: string | null
  ref: string | null
  manifest: Manifest
  added_at: string
}

export interface Page {
  records: InstanceRecord[]
  /** The cursor of the next page; null on the last page. */
  cursor: string | null
}

const at = encodeURIComponent
const instance = (id: string) => `/instances/${at(id)}`

export const fetchResolvers = () => askJson<Resolver[]>('/resolvers')
export const fetchResolver = (name: string) => askJson<Resolver>(`/resolvers/${at(name)}`)

export function checkInput(name: string, input: Payload, signal?: AbortSignal): Promise<FormCheck> {
  const options = signal === undefined ? {} : { signal }
  return askJson<FormCheck>(`/resolvers/${at(name)}/check`, { method: 'POST', body: { input }, ...options })
}

export async function fetchViewport(name: string): Promise<string> {
  return (await ask(`/resolvers/${at(name)}/viewport.js`)).text()
}

export async function createInstance(resolver: string, input: Payload, name: string | null): Promise<InstanceRecord> {
  return (await (await act('/instances', { resolver, input, name })).json()) as InstanceRecord
}

export interface ListWish {
  status?: readonly Status[]
  resolver?: string
  limit?: number
  cursor?: string
}

export async function fetchInstances({ status, resolver, limit, cursor }: ListWish): Promise<Page> {
  const query = new URLSearchParams()
  if (status !== undefined) query.set('status', status.join(','))
  if (resolver !== undefined) query.set('resolver', resolver)
  if (limit !== undefined) query.set('limit', String(limit))
  if (cursor !== undefined) query.set('cursor', cursor)
  const response = await ask(`/instances?${query}`)
  const records = (await response.json()) as InstanceRecord[]
  const [, next] = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '') ?? []
  return { records, cursor: next === undefined ? null : new URL(next, location.href).searchParams.get('cursor') }
}

export const fetchInstance = (id: string) => askJson<InstanceRecord>(instance(id))
export const fetchStory = (id: string) => askJson<Story>(`${instance(id)}/story`)
export const fetchState = (id: string) => askJson<Record<string, unknown> | null>(`${instance(id)}/state`)
export const fetchPending = (id: string) => askJson<InputRequest[]>(`${instance(id)}/input-requests?status=pending`)
export const fetchMessageTypes = (id: string) => askJson<MessageType[]>(`${instance(id)}/message-types`)
export const fetchMessages = (id: string) => askJson<SentMessage[]>(`${instance(id)}/messages`)
export const fetchDataFiles = (id: string) => askJson<DataFile[]>(`${instance(id)}/data`)

/** Reads a data file, or its first `limit` bytes. */
export function fetchData(id: string, path: string, limit?: number): Promise<Response> {
  const headers: Record<string, string> = limit === undefined ? {} : { range: `bytes=0-${limit - 1}` }
  return ask(`${instance(id)}/data/${path.split('/').map(at).join('/')}`, { headers })
}

export async function answer(id: string, request: string, payload: Payload): Promise<void> {
  await act(`${instance(id)}/input-requests/${at(request)}`, payload)
}

export async function sendMessage(id: string, type: string, payload: Payload): Promise<void> {
  await act(`${instance(id)}/messages`, { message_type: type, payload })
}

export async function rename(id: string, name: string | null): Promise<void> {
  await ask(instance(id), { method: 'PATCH', body: { name } })
}

export async function pause(id: string): Promise<void> {
  await act(`${instance(id)}/pause`, {})
}

export async function resume(id: string): Promise<void> {
  await act(`${instance(id)}/resume`, {})
}

export async function stop(id: string, reason: string): Promise<void> {
  await act(`${instance(id)}/stop`, reason === '' ? {} : { reason })
}

export async function cancel(id: string): Promise<void> {
  await ask(instance(id), { method: 'DELETE' })
}
