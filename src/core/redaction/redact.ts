/**
 * Replaces known secret values, in every common encoding, by `[redacted]` (threats B9). Best effort: a value that a resolver
 * transforms in its own way is not found. {@link file://../host/ledger/ledger.ts} uses it for everything that goes into the journal.
 */
import { SECRET_MIN_CHARS } from '../limits.ts'
import { ByteSearch } from './byte-search.ts'

export const REDACTED = '[redacted]'

export class Redactor {
  /** Has no secrets, and changes nothing. */
  static readonly idle = new Redactor([])
  readonly #needles: RegExp | undefined
  readonly #search: ByteSearch | undefined

  /** `secrets`: the values. Values shorter than 8 characters are ignored, because they would match everywhere. */
  constructor(secrets: readonly string[]) {
    const needles = needlesOf(secrets)
    if (needles.length === 0) return
    this.#needles = new RegExp(needles.map(escapePattern).join('|'), 'g')
    const inBytes = needles.map((needle) => Buffer.from(needle))
    this.#search = new ByteSearch(inBytes, SECRET_MIN_CHARS)
  }

  /** Whether there are secrets to search for. */
  get isIdle(): boolean {
    return this.#needles === undefined
  }

  /** False where these bytes, JSON or text, certainly hold no secret. One search that skips most bytes; nothing is copied. */
  suspects(bytes: Buffer): boolean {
    if (this.#search === undefined) return false
    // An unnecessary JSON escape may hide a value, so such a line is parsed and checked.
    return this.#search.isIn(bytes) || (bytes.includes(BACKSLASH) && NEEDLESS_ESCAPE.test(bytes.toString('latin1')))
  }

  /** Whether these bytes contain a secret, in any of the searched forms. */
  holds(bytes: Buffer): boolean {
    return this.#search?.isIn(bytes) === true
  }

  /** The end of a text, cut after redaction: a secret that the cut splits would not be found. */
  tail(read: (maxBytes: number) => string, maxBytes: number): string {
    return Buffer.from(this.text(read(maxBytes + MARGIN_BYTES)))
      .subarray(-maxBytes)
      .toString('utf8')
  }

  text(text: string): string {
    return this.#needles === undefined ? text : text.replace(this.#needles, REDACTED)
  }

  /** A JSON value with the secrets in its strings, keys and numbers redacted; the same value where it holds none. */
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
    // A value whose key changed is a change too.
    const isSame = entries.every(([name, item]) => Object.hasOwn(fields, name) && fields[name] === item)
    return isSame ? value : Object.fromEntries(entries)
  }
}

let latest: { key: string; redactor: Redactor } | undefined

/** The redactor of these secrets; cached for the next call with the same ones. */
export function redactorOf(secrets: readonly string[]): Redactor {
  const key = JSON.stringify(secrets)
  if (latest?.key !== key) latest = { key, redactor: secrets.length === 0 ? Redactor.idle : new Redactor(secrets) }
  return latest.redactor
}

/** Every form of a value that is searched for, the longest first, so that a whole value is replaced before one of its lines. */
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

/**
 * The part of the base64 text that is the same wherever the value begins: the characters that contain only bits of it, at
 * each of 3 offsets.
 */
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
