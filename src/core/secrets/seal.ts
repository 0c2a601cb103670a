/**
 * Seals values with the key of a home (AES-256-GCM) and opens them: named secrets, secret fields of forms, addresses and signing keys
 * of notifications. `place` says what a value belongs to; a sealed value that is moved to another place does not open.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { fail } from '../errors.ts'
import { ensureKey, keyPath, readKey } from './key-file.ts'

const VERSION = 'v1'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Throws `secret_key_unusable`, `disk_full`. */
export function seal(home: string, place: string, text: string): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', ensureKey(home), nonce)
  cipher.setAAD(Buffer.from(place))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return `${VERSION}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`
}

/** Throws `secret_unreadable` for a value that was sealed with another key or is damaged, `secret_key_unusable`. */
export function open(home: string, place: string, sealed: unknown): string {
  const key = readKey(home)
  if (key === undefined)
    throw fail('secret_unreadable', { what: place, reason: `the key file is missing (${keyPath(home)})` })
  const [version, text = ''] = typeof sealed === 'string' ? sealed.split('.') : []
  const bytes = Buffer.from(text, 'base64url')
  if (version !== VERSION || bytes.length < NONCE_BYTES + TAG_BYTES) {
    throw fail('secret_unreadable', { what: place, reason: 'it is damaged' })
  }
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
    decipher.setAAD(Buffer.from(place))
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch (cause) {
    const reason = `it was sealed with another key than that in ${keyPath(home)}, or is damaged`
    throw fail('secret_unreadable', { what: place, reason }, { cause })
  }
}
