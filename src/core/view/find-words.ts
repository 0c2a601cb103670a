/** Decides which instances a list is narrowed to: by name, labels, creation time and text. Pure; lists and the API use it. */
import type { InstanceRecord } from '../protocol/instance.ts'
import type { Status } from '../protocol/status.ts'

export interface Narrowing {
  status?: readonly Status[]
  resolver?: string
  /** Its whole name. */
  name?: string
  /** `key=value`, or `key` for any value; all of them. */
  labels?: readonly string[]
  /** Created at this time or later, ISO-8601 UTC. */
  since?: string
  /** Created before this time. */
  until?: string
  /** Found in the id, the name, the resolver, a label or the beginning of the input; upper and lower case are the same. */
  text?: string
}

/** What is compared; the index has it for each instance. */
export interface Findable {
  id: string
  resolver: string
  name: string | null
  labels: Readonly<Record<string, string>>
  /** The beginning of the texts of the input. */
  input: string
}

const INPUT_CHARS = 160

export function findableOf(record: InstanceRecord): Findable {
  const { instance_id: id, name, resolver, labels = {}, input } = record
  const texts = Object.values(input).filter((value) => typeof value === 'string')
  return { id, resolver, name, labels, input: texts.join(' ').slice(0, INPUT_CHARS) }
}

/** Whether anything that can change after the creation, or is in no index, is asked for. */
export function needsWords({ name, labels, text }: Narrowing): boolean {
  return name !== undefined || labels !== undefined || text !== undefined
}

export function isFound(found: Findable, { name, labels = [], text }: Narrowing): boolean {
  if (name !== undefined && found.name !== name) return false
  if (!labels.every((label) => hasLabel(found, label))) return false
  return text === undefined || textOf(found).includes(text.toLowerCase())
}

export function isInTime(createdAt: string, { since, until }: Narrowing): boolean {
  return (since === undefined || createdAt >= since) && (until === undefined || createdAt < until)
}

export function fitsNarrowing(record: InstanceRecord, narrowing: Narrowing): boolean {
  const { status, resolver } = narrowing
  if (status !== undefined && !status.includes(record.status)) return false
  if (resolver !== undefined && resolver !== record.resolver) return false
  if (!isInTime(record.created_at, narrowing)) return false
  return !needsWords(narrowing) || isFound(findableOf(record), narrowing)
}

function hasLabel({ labels }: Findable, wanted: string): boolean {
  const at = wanted.indexOf('=')
  const key = at === -1 ? wanted : wanted.slice(0, at)
  return Object.hasOwn(labels, key) && (at === -1 || labels[key] === wanted.slice(at + 1))
}

function textOf({ id, resolver, name, labels, input }: Findable): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  return [id, name ?? '', resolver, ...pairs, input].join('\n').toLowerCase()
}
