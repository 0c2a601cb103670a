/** Reads the input flags `-i key=value`, `-i key=@file` and `--input-file F|-` into one payload for a form. */
import { createReadStream } from 'node:fs'
import { fail, ResolveError, systemCode } from '../../core/errors.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import type { Form, Payload } from '../../core/protocol/form.ts'
import { declaredValue, fieldsOf } from '../../core/view/fields.ts'
import { type Misfit, misfitsOf, misspeltFields, outsideOptions, unknownFields } from '../../core/view/misfits.ts'
import { CommandError, usage } from '../output/command-error.ts'

export interface InputFlags {
  input?: readonly string[] | undefined
  'input-file'?: string | undefined
}

export interface GivenInput {
  /** The fields of the file, overwritten by those of `-i`. */
  payload: Payload
  /** The keys given with `-i`. They must be fields of the form; keys of a file need not be (R36). */
  named: readonly string[]
  /** What stood behind `=` in each `-i`: `@file` is the name of the file. */
  typed?: Readonly<Record<string, string>>
  /** The path of `--input-file`, which a repeated command can read again; undefined for stdin. */
  file?: string | undefined
}

/** Reads both flags. Throws `usage` for a pair without `=` and for a file without a JSON object. */
export async function readInput(flags: InputFlags): Promise<GivenInput> {
  const payload: Payload = flags['input-file'] === undefined ? {} : await readJsonObject(flags['input-file'])
  const named: string[] = []
  const typed: Record<string, string> = {}
  for (const pair of flags.input ?? []) {
    const equals = pair.indexOf('=')
    if (equals < 1) throw usage(`"-i ${pair}" has no value; write -i field=value, or -i field=@file.`)
    const key = pair.slice(0, equals)
    setOwn(payload, key, await readValue(pair.slice(equals + 1)))
    setOwn(typed, key, pair.slice(equals + 1))
    if (!named.includes(key)) named.push(key)
  }
  const file = flags['input-file'] === '-' ? undefined : flags['input-file']
  return { payload, named, typed, file }
}

/** `@file` is the file's text without its last newline; `@@…` is a value that begins with `@`. */
async function readValue(value: string): Promise<string> {
  if (value.startsWith('@@')) return value.slice(1)
  if (!value.startsWith('@')) return value
  return (await readText(value.slice(1))).replace(/\r?\n$/, '')
}

/** The JSON object in a file, or on stdin for `-`. */
export async function readJsonObject(path: string): Promise<Payload> {
  const where = path === '-' ? 'stdin' : path
  let parsed: unknown
  try {
    parsed = JSON.parse(path === '-' ? await readStdin() : await readText(path))
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new CommandError(fail('invalid_json', { where: `${where}: ${error.message}` }, { cause: error }))
    throw error
  }
  if (!isObject(parsed)) {
    throw usage(`${where} is not a JSON object; write {"field": "value"}.`)
  }
  return parsed as Payload
}

/** More than an input may have, as JSON may be written with spaces and escapes. */
const FILE_MAX_BYTES = 16 * 1024 * 1024

async function readText(path: string): Promise<string> {
  try {
    const chunks: Buffer[] = []
    let bytes = 0
    // A file may be a FIFO, as of `<(…)`, or a device without an end.
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > FILE_MAX_BYTES) throw fail('input_too_large', { what: `file ${path}`, bytes, limit: FILE_MAX_BYTES })
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString('utf8')
  } catch (error) {
    if (error instanceof ResolveError) throw error
    const reason = systemCode(error) === 'ENOENT' ? 'there is no such file' : (systemCode(error) ?? String(error))
    throw usage(`Can't read ${path}: ${reason}.`)
  }
}

/**
 * Fits the payload to its form: a checkbox given with `-i` is converted from true/false/yes/no, an option so given to the value that
 * the form declares (R51); other values stay unchanged.
 * Throws `usage` for what the doors for people refuse (R35). A null form accepts everything (R44).
 */
export function fitToForm(given: GivenInput, form: Form | null): Payload {
  if (form === null) return given.payload
  refuseMisfits(form, [
    ...unknownFields(form, given.named),
    ...misspeltFields(form, given.payload).filter(({ id }) => !given.named.includes(id)),
  ])
  const payload = withCheckboxes(given, form)
  refuseMisfits(form, outsideOptions(form, payload))
  return withOptions(payload, given, form)
}

/** The same for an answer or a message: no key is kept that the form does not have, and a checkbox is true or false. */
export function fitToAnswer(given: GivenInput, form: Form): Payload {
  const payload = withCheckboxes(given, form)
  refuseMisfits(form, misfitsOf(form, payload))
  return withOptions(payload, given, form)
}

function withOptions(payload: Payload, { named }: GivenInput, form: Form): Payload {
  for (const field of fieldsOf(form)) {
    if (field.kind !== 'select' || !named.includes(field.id)) continue
    setOwn(payload, field.id, declaredValue(field, payload[field.id]))
  }
  return payload
}

function withCheckboxes(given: GivenInput, form: Form): Payload {
  const payload: Payload = { ...given.payload }
  for (const component of form.components) {
    if (component.type !== 'checkbox' || !given.named.includes(component.id)) continue
    setOwn(payload, component.id, toBoolean(component.id, payload[component.id]))
  }
  return payload
}

/** How many times in a row a value may disclose a field whose value discloses another. */
const DISCLOSURES_MAX = 20

/**
 * Fits the payload to the form that it discloses. A checkbox is converted once its field is present, and can disclose further
 * fields. `ask` returns the form for a payload. Throws `usage` if a key of `-i` is not a field of the final form.
 */
export async function fitToDisclosed<T extends { form: Form | null }>(
  given: GivenInput,
  ask: (payload: Payload) => Promise<T>,
): Promise<{ payload: Payload; asked: T }> {
  let { payload } = given
  for (let turn = 1; ; turn += 1) {
    const asked = await ask(payload)
    const fields = new Set(asked.form?.components.map(({ id }) => id))
    const isLast = turn === DISCLOSURES_MAX
    const named = isLast ? given.named : given.named.filter((key) => fields.has(key))
    const fitted = asked.form === null ? payload : withCheckboxes({ payload, named }, asked.form)
    if (!isLast && JSON.stringify(fitted) !== JSON.stringify(payload)) {
      payload = fitted
      continue
    }
    return { payload: fitToForm({ payload, named: given.named }, asked.form), asked }
  }
}

function refuseMisfits(form: Form, misfits: readonly Misfit[]): void {
  if (misfits.length === 0) return
  const known = form.components.map(({ id }) => id)
  const isUnknown = misfits.some(({ id }) => !known.includes(id))
  const takes = known.length === 0 ? ' The form has no fields.' : ` The fields are: ${known.join(', ')}.`
  throw usage(`${misfits.map(({ message }) => message).join(' ')}${isUnknown ? takes : ''}`, { fields: misfits })
}

const YES = ['true', 'yes', 'y', 'on', '1']
const NO = ['false', 'no', 'n', 'off', '0', '']

function toBoolean(id: string, value: unknown): boolean {
  const word = String(value).trim().toLowerCase()
  if (YES.includes(word)) return true
  if (NO.includes(word)) return false
  throw usage(`"${id}" is a checkbox: use true or false, not "${String(value)}".`, {
    fields: [{ id, message: 'true or false' }],
  })
}

/** Sets an own property, also for the name `__proto__`. */
function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
}

async function readStdin(): Promise<string> {
  const { text } = await import('node:stream/consumers')
  return await text(process.stdin)
}
