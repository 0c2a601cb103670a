/**
 * Replaces known secret values, however they are written, by `[redacted]` (threats B9). Best effort: what a resolver transforms in
 * its own way is not found. {@link file://./ledger.ts} uses it for everything that goes into the journal.
 */
import { SECRET_MIN_CHARS } from '../../limits.ts'
import { ByteSearch } from './byte-search.ts'

export const REDACTED = '[redacted]'

export class Redactor {
  /** Knows nothing, changes nothing. */
  static readonly idle = new Redactor([])
  readonly #needles: RegExp | undefined
  readonly #search: ByteSearch | undefined

  /** `secrets`: the values themselves; shorter ones than 8 characters are passed over, for they would be found everywhere. */
  constructor(secrets: readonly string[]) {
    const needles = needlesOf(secrets)
    if (needles.length === 0) return
    this.#needles = new RegExp(needles.map(escapePattern).join('|'), 'g')
    const inBytes = needles.map((needle) => Buffer.from(needle))
    this.#search = new ByteSearch(inBytes, SECRET_MIN_CHARS)
  }

  /** Whether there is anything to look for. */
  get isIdle(): boolean {
    return this.#needles === undefined
  }

  /** False where these bytes, JSON or text, certainly hold no secret: one search that mostly skips, nothing is copied. */
  suspects(bytes: Buffer): boolean {
    if (this.#search === undefined) return false
    // An escape that no writer of JSON needs may hide a value: such a line is looked into.
    return this.#search.isIn(bytes) || (bytes.includes(BACKSLASH) && NEEDLESS_ESCAPE.test(bytes.toString('latin1')))
  }

  /** Whether a secret stands in these bytes as it is, or in one of the forms looked for. */
  holds(bytes: Buffer): boolean {
    return this.#search?.isIn(bytes) === true
  }

  /** The last bytes of a text, cut after it was cleaned: a secret cut in two would not be found. */
  tail(read: (maxBytes: number) => string, maxBytes: number): string {
    return Buffer.from(this.text(read(maxBytes + MARGIN_BYTES)))
      .subarray(-maxBytes)
      .toString('utf8')
  }

  text(text: string): string {
    return this.#needles === undefined ? text : text.replace(this.#needles, REDACTED)
  }

  /** A JSON value without the secrets in its texts, names and numbers; the same one where it holds none. */
  value<T>(value: T): T {
    return (this.#needles === undefined ? value : this.#clean(value)) as T
  }

  #clean(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number') return this.text(String(value)) === String(value) ? value : REDACTED
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#clean(item))
      return items.some((item, at) => item !== value[at]) ? items : value
    }
    const entries = Object.entries(value).map(([name, item]) => [this.text(name), this.#clean(item)] as const)
    const fields = value as Record<string, unknown>
    // A value that moved under another name changed as well.
    const isSame = entries.every(([name, item]) => Object.hasOwn(fields, name) && fields[name] === item)
    return isSame ? value : Object.fromEntries(entries)
  }
}

let latest: { key: string; redactor: Redactor } | undefined

/** The redactor of these secrets; made once for as long as the same ones are asked for. */
export function redactorOf(secrets: readonly string[]): Redactor {
  const key = JSON.stringify(secrets)
  if (latest?.key !== key) latest = { key, redactor: secrets.length === 0 ? Redactor.idle : new Redactor(secrets) }
  return latest.redactor
}

/** Every form a value is looked for in, the longest first, so that a whole value goes before a line of it. */
function needlesOf(secrets: readonly string[]): string[] {
  const needles = new Set<string>()
  for (const secret of secrets) {
    for (const part of [secret, ...linesOf(secret)]) {
      if (part.length < SECRET_MIN_CHARS) continue
      for (const form of formsOf(part)) if (form.length >= SECRET_MIN_CHARS) needles.add(form)
    }
  }
  return [...needles].sort((a, b) => b.length - a.length)
}

function linesOf(secret: string): string[] {
  const lines = secret.split(/\r?\n/).map((line) => line.trim())
  return lines.length > 1 ? lines : [secret.trim()]
}

function formsOf(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1)
  const ascii = json.replace(NOT_ASCII, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const url = encodeURIComponent(value)
  const strictUrl = url.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
  const urls = [url, strictUrl, url.replaceAll('%20', '+'), strictUrl.replaceAll('%20', '+')]
  const lowerUrls = urls.map((form) => form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))
  const jsonTwice = JSON.stringify(json).slice(1, -1)
  return [value, json, jsonTwice, ascii, json.replaceAll('/', '\\/'), ...urls, ...lowerUrls, ...base64FormsOf(value)]
}

const MARGIN_BYTES = 16 * 1024
const BACKSLASH = 0x5c
const NEEDLESS_ESCAPE = /\\u00[2-7]/
const NOT_ASCII = /[^\x20-\x7e]/g

/** What is the same in base64 wherever the value begins: the characters that hold nothing but bits of it, at each of 3 offsets. */
function base64FormsOf(value: string): string[] {
  const bytes = Buffer.from(value)
  return [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes])
    const first = Math.ceil((offset * 8) / 6)
    const end = Math.floor((padded.length * 8) / 6)
    const forms = [padded.toString('base64').slice(first, end), padded.toString('base64url').slice(first, end)]
    return [...forms, (forms[0] as string).replaceAll('/', '\\/')]
  })
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
