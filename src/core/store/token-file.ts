/** Reads and writes tokens.json as a whole for {@link file://./tokens.ts}; the file holds only digests of tokens (R38). */
import { chmodSync, closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs'
import { fail, type ResolveError, systemCode } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { type WriteStep, writeWhole } from '../files/write-whole.ts'
import { MIB } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import { isScope, type Scope } from '../protocol/http.ts'
import { isInstanceId } from './home.ts'

export interface TokenEntry {
  /** 8 hexadecimal digits, also a part of the token's text. */
  id: string
  /** The name of the actor in the journal. */
  name: string
  scope: Scope
  /** The only instance that the token opens; null for all. */
  instance: string | null
  /** SHA-256 of the whole token text, in hexadecimal. */
  sha256: string
  /** ISO-8601 UTC. */
  created_at: string
  /** ISO-8601 UTC; null for never. */
  expires_at: string | null
}

export interface TokenReading {
  entries: readonly TokenEntry[]
  /** Set where the file is not valid; then there are no entries. */
  problem: ResolveError | null
  /** Whether other users could read the file. The mode is set back to 0600 where possible. */
  wasOpen: boolean
}

const TOKENS_MAX_BYTES = 1 * MIB
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@:-]{0,63}$/u

export function isTokenName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value) && value.trim() === value
}

/** Changes when the file changes; "missing" where there is no file. */
export function tokenFingerprint(path: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true })
    return `${ino}:${size}:${mtimeNs}:${ctimeNs}`
  } catch (error) {
    return systemCode(error) === 'ENOENT' ? 'missing' : 'unreadable'
  }
}

/** Never throws: an invalid file means that no token is valid. */
export function readTokenFile(path: string): TokenReading {
  const broken = (reason: string, wasOpen = false): TokenReading => ({
    entries: [],
    problem: fail('tokens_broken', { path, reason }),
    wasOpen,
  })
  let text: string
  let wasOpen = false
  try {
    // Opened without following a link and non-blocking, so that a FIFO in its place cannot block.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    try {
      const stat = fstatSync(fd)
      if (!stat.isFile()) return broken('it is not a regular file')
      if (stat.size > TOKENS_MAX_BYTES) return broken(`it has ${stat.size} bytes; the limit is ${TOKENS_MAX_BYTES}`)
      wasOpen = (stat.mode & 0o077) !== 0
      text = readFileSync(fd, 'utf8')
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return { entries: [], problem: null, wasOpen: false }
    return broken(code === 'ELOOP' ? 'it is a link' : `it can't be read (${code ?? 'unknown'})`)
  }
  if (wasOpen) closeToOthers(path)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return broken('it is not JSON', wasOpen)
  }
  const faults = faultsOf(value)
  if (faults.length > 0) return broken(faults.join('; '), wasOpen)
  return { entries: (value as { tokens: TokenEntry[] }).tokens, problem: null, wasOpen }
}

/** Replaces the file durably, mode 0600. Throws the system's error; the old file is then unchanged. */
export async function writeTokenFile(path: string, entries: readonly TokenEntry[]): Promise<void> {
  const whole = { schema_version: 1, tokens: entries }
  const onStep = (step: WriteStep) => failpoint(`tokens.${step}`)
  await writeWhole(path, `${JSON.stringify(whole, null, 2)}\n`, { mode: 0o600, durable: true, onStep })
}

function closeToOthers(path: string): void {
  try {
    chmodSync(path, 0o600)
  } catch {
    // The file belongs to another user; the warning is all that is possible.
  }
}

/** Error messages never quote a value of the file: a user may have pasted a token there. */
function faultsOf(value: unknown): string[] {
  if (!isObject(value)) return ['it is not a JSON object']
  if (value['schema_version'] !== 1)
    return ['its schema_version is not 1: another version of resolve may have written it']
  const { tokens } = value
  if (!Array.isArray(tokens)) return ['it has no list of tokens']
  const faults = tokens.flatMap((entry: unknown, at) => {
    const fault = entryFault(entry)
    return fault === null ? [] : [`entry ${at + 1} is incomplete or invalid: ${fault}`]
  })
  const ids = new Set(tokens.map((entry: unknown) => (isObject(entry) ? entry['id'] : entry)))
  if (faults.length === 0 && ids.size < tokens.length) faults.push('an id is given twice')
  return faults.slice(0, 5)
}

function entryFault(entry: unknown): string | null {
  if (!isObject(entry)) return 'it is not an object'
  if (!matches(entry['id'], /^[0-9a-f]{8}$/)) return 'id'
  if (!isTokenName(entry['name'])) return 'name'
  if (!isScope(entry['scope'])) return 'scope'
  if (entry['instance'] !== null && !isInstanceId(entry['instance'])) return 'instance'
  if (!matches(entry['sha256'], /^[0-9a-f]{64}$/)) return 'sha256'
  if (!isTime(entry['created_at'])) return 'created_at'
  return entry['expires_at'] === null || isTime(entry['expires_at']) ? null : 'expires_at'
}

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value)
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value))
}
