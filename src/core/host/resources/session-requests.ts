/**
 * Parses the requests for LLM sessions of a resolver without the SDK: only the fields named here are accepted, each within its limits. What
 * the options of a session mean is checked beside the worker. Pure.
 */
import { fail } from '../../errors.ts'
import {
  REQUEST_IMAGES_MAX,
  SESSION_NAME_MAX_CHARS,
  SESSION_OPTIONS_MAX_BYTES,
  SESSION_PROMPT_MAX_BYTES,
  SESSIONS_MAX,
} from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import { isSessionId } from '../../protocol/session/session.ts'
import type { CallParams } from '../checks/admission.ts'

export const CREATE = 'platform.session.create'
export const RUN = 'platform.session.run'
export const STEER = 'platform.session.steer'

/** A session is known by its name and number: a repeated request opens the same one. */
export interface SessionCreation {
  /** `<name>`, or `<name>-<number>` after the first of a name. */
  id: string
  /** The whole request, to compare a repeated one with it. */
  text: string
  params: { session_id: string; name: string; number: number; options: Record<string, unknown> }
}

/** `{name, number, options?}`. Throws `session_call_refused`. */
export function parseSessionCreation(params: CallParams): SessionCreation {
  only(CREATE, params, ['name', 'number', 'options'])
  const { name, options = {} } = params
  const number = numberOf(CREATE, params, 'which session of this name it is', SESSIONS_MAX)
  const pattern = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,${SESSION_NAME_MAX_CHARS - 1}}$`)
  if (typeof name !== 'string' || !pattern.test(name))
    throw refuse(CREATE, `"name" must be 1 to ${SESSION_NAME_MAX_CHARS} letters, digits, ".", "_" or "-"`)
  if (!isObject(options)) throw refuse(CREATE, '"options" must be an object')
  const text = JSON.stringify({ name, number, options })
  requireSize('options of a session', text, SESSION_OPTIONS_MAX_BYTES)
  const id = number === 1 ? name : `${name}-${number}`
  return { id, text, params: { session_id: id, name, number, options } }
}

export interface SessionRun {
  session_id: string
  number: number
  prompt: string
  schema?: Record<string, unknown>
  images?: unknown[]
}

/** `{session_id, number, prompt, schema?, images?}`. Throws `session_call_refused`, `input_too_large`. */
export function parseSessionRun(params: CallParams): SessionRun {
  only(RUN, params, ['session_id', 'number', 'prompt', 'schema', 'images'])
  const { schema, images } = params
  const number = numberOf(RUN, params, 'which prompt of the session it is', Number.MAX_SAFE_INTEGER)
  if (schema !== undefined && !isObject(schema)) throw refuse(RUN, '"schema" must be a JSON Schema')
  requireSize('schema', JSON.stringify(schema ?? null), SESSION_OPTIONS_MAX_BYTES)
  const run = { session_id: idOf(RUN, params), number, prompt: textOf(RUN, params, 'prompt') }
  requireImages(images)
  return { ...run, ...(schema === undefined ? {} : { schema }), ...(images === undefined ? {} : { images }) }
}

/** Paths, or bytes as base64 with their media type. What a path leads to is looked at beside the worker. */
function requireImages(images: unknown): asserts images is unknown[] | undefined {
  if (images === undefined) return
  const isImage = (one: unknown) =>
    typeof one === 'string' ||
    (isObject(one) &&
      Object.keys(one).length === 2 &&
      typeof one['data'] === 'string' &&
      typeof one['media_type'] === 'string')
  if (!Array.isArray(images) || images.length > REQUEST_IMAGES_MAX || !images.every(isImage))
    throw refuse(RUN, `"images" must be at most ${REQUEST_IMAGES_MAX} paths, or objects with "data" and "media_type"`)
  requireSize('images', JSON.stringify(images), SESSION_OPTIONS_MAX_BYTES)
}

/** `{session_id, text}`. Throws `session_call_refused`, `input_too_large`. */
export function parseSteering(params: CallParams): { session_id: string; text: string } {
  only(STEER, params, ['session_id', 'text'])
  return { session_id: idOf(STEER, params), text: textOf(STEER, params, 'text') }
}

function idOf(method: string, { session_id: id }: CallParams): string {
  if (!isSessionId(id)) throw refuse(method, `"session_id" must be what ${CREATE} answered`)
  return id
}

function numberOf(method: string, { number }: CallParams, what: string, most: number): number {
  if (Number.isSafeInteger(number) && (number as number) >= 1 && (number as number) <= most) return number as number
  throw refuse(method, `"number" must be ${what}, from 1`)
}

function textOf(method: string, params: CallParams, name: string): string {
  const text = params[name]
  if (typeof text !== 'string' || text === '') throw refuse(method, `"${name}" must be a text`)
  requireSize(name, text, SESSION_PROMPT_MAX_BYTES)
  return text
}

function requireSize(what: string, text: string, limit: number): void {
  const bytes = Buffer.byteLength(text)
  if (bytes > limit) throw fail('input_too_large', { what, bytes, limit })
}

function only(method: string, params: CallParams, known: readonly string[]): void {
  const unknown = Object.keys(params).find((name) => !['token', 'epoch', ...known].includes(name))
  if (unknown !== undefined) throw refuse(method, `"${unknown.slice(0, 64)}" is not a parameter of this call`)
}

export function refuse(method: string, problem: string) {
  return fail('session_call_refused', { method, problem })
}
