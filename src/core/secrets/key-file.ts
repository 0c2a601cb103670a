/**
 * The key of a home: 32 random bytes in a file of mode 0600, made when the first value is sealed (R55). It is `secret.key` in the home,
 * or the file that RESOLVE_SECRET_KEY_FILE names. {@link file://./seal.ts} seals and opens with it.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { diskFull, fail, systemCode } from '../errors.ts'
import { readRegularFile } from '../files/read-regular-file.ts'
import { createExclusiveSync } from '../files/write-whole.ts'
import { needsSealedValues } from './sealed-instances.ts'

export const KEY_FILE = 'secret.key'

const KEY_TEXT = /^([0-9a-f]{64})\s*$/
const KEY_FILE_MAX_BYTES = 1_024

export function keyPath(home: string, env: NodeJS.ProcessEnv = process.env): string {
  return env['RESOLVE_SECRET_KEY_FILE'] || join(home, KEY_FILE)
}

/** Undefined where there is no key yet. Throws `secret_key_unusable`. */
export function readKey(home: string, env: NodeJS.ProcessEnv = process.env): Buffer | undefined {
  const path = keyPath(home, env)
  let text: string
  try {
    // A key that an orchestrator mounts is often a link; the home's own is never one.
    const check = (stat: Stats) => {
      if (!stat.isFile() || stat.size > KEY_FILE_MAX_BYTES) throw unusable(path, 'it is not a key file')
    }
    text = readRegularFile(path, check, { follows: !isOwn(home, path) })
  } catch (error) {
    const code = systemCode(error)
    if (code === undefined) throw error
    if (code === 'ENOENT') return undefined
    throw unusable(path, code === 'ELOOP' ? 'it is a link' : `the system answered ${code}`, error)
  }
  const hex = KEY_TEXT.exec(text)?.[1]
  if (hex === undefined) throw unusable(path, 'it does not hold 64 hexadecimal digits')
  return Buffer.from(hex, 'hex')
}

/** The key, made where it is missing; it is on disk before anything is sealed with it. Throws `secret_key_unusable`, `disk_full`. */
export function ensureKey(home: string, env: NodeJS.ProcessEnv = process.env): Buffer {
  const found = readKey(home, env)
  if (found !== undefined) return found
  const path = keyPath(home, env)
  // Another key in its place would hide that they can't be opened, until the old one is lost.
  if (hasSealedValues(home) || needsSealedValues(home))
    throw unusable(path, 'it is missing, and values of this home are sealed with it')
  try {
    createExclusiveSync(path, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, durable: true })
  } catch (error) {
    throw diskFull(error, path) ?? unusable(path, `the system answered ${systemCode(error) ?? String(error)}`, error)
  }
  // Another process may have made it first: the file decides.
  const made = readKey(home, env)
  if (made === undefined) throw unusable(path, 'it vanished')
  return made
}

/** Files with sealed values, and how such a value begins in them ({@link file://./seal.ts}). */
const SEALED_FILES = ['secrets.json', 'notify.json']
const SEALED = '"v1.'

function hasSealedValues(home: string): boolean {
  return SEALED_FILES.some((name) => {
    try {
      return readFileSync(join(home, name), 'utf8').includes(SEALED)
    } catch {
      // Missing, or reported where its content is read.
      return false
    }
  })
}

function isOwn(home: string, path: string): boolean {
  return path === join(home, KEY_FILE)
}

function unusable(path: string, reason: string, cause?: unknown) {
  return fail('secret_key_unusable', { path, reason }, { cause })
}
