/** What a person puts in by flag: `-i key=value`, `-i key=@file`, `--input-file F|-`, into one payload for a form. */
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { fail, systemCode } from '../../core/errors.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import { nearest } from '../../core/primitives/nearest.ts'
import type { Form, Payload } from '../../core/protocol/form.ts'
import { CommandError, usage } from '../output/command-error.ts'

export interface InputFlags {
  input?: readonly string[] | undefined
  'input-file'?: string | undefined
}

export interface GivenInput {
  /** Everything from the file, then the pairs over it. */
  payload: Payload
  /** The keys given with `-i`: these must be fields of the form; those of a file may be extra (R36). */
  named: readonly string[]
}

/** Reads both flags. Throws `usage` for a pair without `=` and for a file that is not a JSON object. */
export async function readInput(flags: InputFlags): Promise<GivenInput> {
  const payload: Payload = flags['input-file'] === undefined ? {} : await readJsonObject(flags['input-file'])
  const named: string[] = []
  for (const pair of flags.input ?? []) {
    const equals = pair.indexOf('=')
    if (equals < 1) throw usage(`"-i ${pair}" has no value; write -i field=value, or -i field=@file.`)
    const key = pair.slice(0, equals)
    setOwn(payload, key, await readValue(pair.slice(equals + 1)))
    if (!named.includes(key)) named.push(key)
  }
  return { payload, named }
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
    parsed = JSON.parse(path === '-' ? await text(process.stdin) : await readText(path))
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new CommandError(fail('invalid_json', { where: `${where}: ${error.message}` }, { cause: error }))
    throw error
  }
  if (!isObject(parsed)) {
    throw usage(`${where} holds no JSON object; write {"field": "value"}.`)
  }
  return parsed as Payload
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const reason = systemCode(error) === 'ENOENT' ? 'there is no such file' : (systemCode(error) ?? String(error))
    throw usage(`Can't read ${path}: ${reason}.`)
  }
}

/**
 * The payload as its form wants it: a checkbox given with `-i` is cast from true/false/yes/no; all else stays as it is.
 * Throws `usage` where a `-i` names no field of the form. A null form declares nothing and takes everything (R44).
 */
export function fitToForm(given: GivenInput, form: Form | null): Payload {
  if (form === null) return given.payload
  refuseUnknown(given.named, form)
  const payload: Payload = { ...given.payload }
  for (const component of form.components) {
    if (component.type !== 'checkbox' || !given.named.includes(component.id)) continue
    setOwn(payload, component.id, toBoolean(component.id, payload[component.id]))
  }
  return payload
}

/** How often a value may bring up a field whose value brings up the next. */
const DISCLOSURES_MAX = 20

/**
 * The payload as the form wants it that it discloses itself: a checkbox is cast once its field is there, and may bring up others.
 * `ask` tells the form for a payload. Throws `usage` where a `-i` names no field of the form it comes to.
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
    const fitted = fitToForm({ payload, named }, asked.form)
    if (!isLast && JSON.stringify(fitted) !== JSON.stringify(payload)) {
      payload = fitted
      continue
    }
    return { payload: fitToForm({ payload, named: given.named }, asked.form), asked }
  }
}

function refuseUnknown(named: readonly string[], form: Form): void {
  const known = form.components.map((component) => component.id)
  const unknown = named.filter((key) => !known.includes(key))
  if (unknown.length === 0) return
  const fields = unknown.map((id) => {
    const near = nearest(id, known)
    return { id, message: `There is no field "${id}"${near === undefined ? '' : `; did you mean "${near}"?`}` }
  })
  const takes = known.length === 0 ? 'The form has no fields.' : `The fields are: ${known.join(', ')}.`
  throw usage(
    `${fields.map((field) => field.message).join(' ')}${fields.length > 0 && /\?$/.test(fields.at(-1)?.message ?? '') ? '' : '.'} ${takes}`,
    { fields },
  )
}

const YES = ['true', 'yes', 'y', 'on', '1']
const NO = ['false', 'no', 'n', 'off', '0', '']

function toBoolean(id: string, value: unknown): boolean {
  const word = String(value).trim().toLowerCase()
  if (YES.includes(word)) return true
  if (NO.includes(word)) return false
  throw usage(`"${id}" is a checkbox: give it true or false, not "${String(value)}".`, {
    fields: [{ id, message: 'true or false' }],
  })
}

/** Sets an own property whatever its name: `__proto__` from a command line stays a plain key. */
function setOwn(target: Payload, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
}
