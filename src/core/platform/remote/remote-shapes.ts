/** What the answers of a server must look like; anything else is not our API. The border of {@link file://./remote.ts}. */
import { NAME_PATTERN, VERSION_PATTERN } from '../../catalog/manifest/manifest-schema.ts'
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { Form, FormCheck } from '../../protocol/form.ts'
import type { DataFile, InputRequest, InstanceRecord, MessageType, SentMessage } from '../../protocol/instance.ts'
import { isStatus } from '../../protocol/status.ts'
import { isInstanceId } from '../../store/home.ts'
import type { Story } from '../../view/story.ts'
import type { HealthRow, PruneOutcome } from '../platform.ts'
import type { Shape } from './remote-http.ts'

type Fields = Record<string, unknown>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value: unknown): value is string => typeof value === 'string'
const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
const isTextOrNone = (value: unknown) => value == null || isText(value)
/** For what goes to terminals, and into names of files, as it is: one of ours can be nothing else (R3, R4). */
const isLike = (pattern: string | RegExp) => {
  const expression = new RegExp(pattern)
  return (value: unknown) => isText(value) && expression.test(value)
}
const isCommit = isLike(/^[0-9a-f]{4,64}$/)
const isFlag = (value: unknown): value is boolean => typeof value === 'boolean'

/** An object of which these fields hold; what else it has is left as it is, since fields are only added. */
function object<T>(fields: Record<string, (value: unknown) => boolean>): Shape<T> {
  return (value) => {
    if (!isFields(value)) return undefined
    return Object.entries(fields).every(([name, holds]) => holds(value[name])) ? (value as T) : undefined
  }
}

const isListOf = (shape: Shape<unknown>) => (value: unknown) =>
  Array.isArray(value) && value.every((one) => shape(one) !== undefined)
const isA = (shape: Shape<unknown>) => (value: unknown) => shape(value) !== undefined

export function listOf<T>(shape: Shape<T>): Shape<T[]> {
  return (value) => (isListOf(shape)(value) ? (value as T[]) : undefined)
}

/** `null` stands for none: wrapped, since undefined says that a shape does not fit. */
export function orNull<T>(shape: Shape<T>): Shape<{ value: T | null }> {
  return (value) => {
    if (value === null) return { value: null }
    const fits = shape(value)
    return fits === undefined ? undefined : { value: fits }
  }
}

export const anyObject: Shape<Fields> = (value) => (isFields(value) ? value : undefined)

export const record = object<InstanceRecord>({
  instance_id: isInstanceId,
  name: isTextOrNone,
  phase: isTextOrNone,
  resolver: isText,
  status: isStatus,
  input: isFields,
  created_at: isText,
})

const component = object({ id: isText, type: isText })

export const form = object<Form>({ type: (type) => type === 'form', components: isListOf(component) })

const field = object({ id: isText, message: isText })

export const formCheck = object<FormCheck>({
  form: isA(orNull(form)),
  errors: (errors) => Array.isArray(errors) && errors.every(isText),
  fields: isListOf(field),
})

export const catalogEntry = object<CatalogEntry>({
  name: isLike(NAME_PATTERN),
  version: isLike(VERSION_PATTERN),
  description: isText,
  kind: isLike(/^(?:builtin|directory|git)$/),
  commit: (commit) => commit === null || isCommit(commit),
  manifest: isA(object({ command: (words) => Array.isArray(words) && words.every(isText) })),
})

export const inputRequest = object<InputRequest>({ id: isText, prompt: isText, schema: isA(form) })

export const messageType = object<MessageType>({ name: isText, label: isText, schema: isA(form) })

export const sentMessage = object<SentMessage>({ number: isCount, message_type: isText, payload: isFields })

export const accepted = object<{ accepted: true; number: number }>({ accepted: (yes) => yes === true, number: isCount })

export const dataFile = object<DataFile>({ path: isText, bytes: isCount, modified_at: isText })

export const attended = object<{ attended: boolean }>({ attended: isFlag })

const creation = object({
  instance_id: isInstanceId,
  created_at: isText,
  input: isFields,
  resolver: isA(object({ name: isText, version: isText, manifest: isFields })),
})

const storyRequest = object({ id: isText, prompt: isText, status: isText, asked_at: isText })

export const story = object<Story>({
  creation: isA(creation),
  status: isStatus,
  history: isListOf(object({ status: isStatus, at: isText })),
  phases: Array.isArray,
  artifacts: Array.isArray,
  requests: isListOf(storyRequest),
  messages: Array.isArray,
  changedData: Array.isArray,
  lastSeq: isCount,
  lastEventAt: isText,
})

export const pruneOutcome = object<PruneOutcome>({
  dry_run: isFlag,
  removed: isListOf(object({ instance_id: isInstanceId, resolver: isText, status: isStatus, bytes: isCount })),
  leftovers: isA(object({ count: isCount, bytes: isCount })),
})

export const healthRow = object<HealthRow>({ check: isText, state: isText, message: isText })
