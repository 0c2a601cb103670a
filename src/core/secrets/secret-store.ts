/**
 * The named secrets of a home (R55). `resolve secret` and the HTTP API change them; a host reads those that a manifest names, right
 * before a launch.
 */
import { join } from 'node:path'
import { fail, type ResolveError } from '../errors.ts'
import { inHome } from '../files/home-errors.ts'
import { withLock } from '../files/lock.ts'
import { SECRET_VALUE_MAX_BYTES, SECRETS_MAX } from '../limits.ts'
import { nearestDetail } from '../primitives/nearest.ts'
import type { SecretContent, SecretInfo, SecretSource } from '../protocol/api/secrets.ts'
import { isSecretName } from '../protocol/manifest.ts'
import { type CommandOutcome, runSecretCommand } from './run-secret-command.ts'
import { open, seal } from './seal.ts'
import { readSecretFile, type SecretEntry, writeSecretFile } from './secret-file.ts'

export const SECRETS_FILE = 'secrets.json'

export function secretsPath(home: string): string {
  return join(home, SECRETS_FILE)
}

/** Sorted by name, without values. Throws `secrets_broken`. */
export function listSecrets(home: string): SecretInfo[] {
  return readSecretFile(secretsPath(home))
    .map(infoOf)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Durable when it returns. Throws `usage`, `secrets_broken`, `secret_key_unusable`, `home_unusable`, `disk_full`. */
export async function setSecret(home: string, name: string, { from, text }: SecretContent): Promise<SecretInfo> {
  refuseName(name)
  refuseContent(from, text)
  return await changed(home, (entries) => {
    const before = entries.find((entry) => entry.name === name)
    if (before === undefined && entries.length >= SECRETS_MAX) {
      throw fail('usage', { problem: `A home has at most ${SECRETS_MAX} secrets.` })
    }
    const now = new Date().toISOString()
    const content = from === 'env' ? text : seal(home, placeOf(name, from), text)
    const entry = { name, from, content, created_at: before?.created_at ?? now, updated_at: now }
    return { entries: [...entries.filter((one) => one.name !== name), entry], result: infoOf(entry) }
  })
}

/** Durable when it returns. Throws `secret_unknown`, and as {@link setSecret}. */
export async function removeSecret(home: string, name: string): Promise<SecretInfo> {
  return await changed(home, (entries) => {
    const found = entries.find((entry) => entry.name === name)
    if (found === undefined) throw unknownSecret(String(name).slice(0, 80), entries)
    return { entries: entries.filter((entry) => entry !== found), result: infoOf(found) }
  })
}

function unknownSecret(name: string, entries: readonly { name: string }[]): ResolveError {
  const names = entries.map((entry) => entry.name)
  return fail('secret_unknown', { name, ...nearestDetail(name, names) })
}

/** The names that a manifest asks for must be set before anything is created. Throws `secret_missing`, `secrets_broken`. */
export function requireSecrets(home: string, resolver: string, names: readonly string[] | undefined): void {
  if (names === undefined || names.length === 0) return
  const entries = readSecretFile(secretsPath(home))
  for (const name of names) {
    const entry = entries.find((one) => one.name === name)
    const isUnset = entry === undefined || (entry.from === 'env' && !process.env[entry.content])
    if (isUnset) throw fail('secret_missing', { resolver, name, ...(entry ? { variable: entry.content } : {}) })
  }
}

/** Opens each sealed value, for doctor. Throws `secret_unreadable` with the first that can't be opened, `secrets_broken`. */
export function checkSealed(home: string): void {
  for (const { name, from, content } of readSecretFile(secretsPath(home))) {
    if (from !== 'env') open(home, placeOf(name, from), content)
  }
}

/**
 * What can be known of these secrets without running a command: for redaction, and for a host that adopts. Left out is what cannot be
 * read; {@link readSecrets} tells why.
 */
export function knownSecrets(home: string, names: readonly string[] | undefined): Record<string, string> {
  const known: Record<string, string> = {}
  if (names === undefined || names.length === 0) return known
  try {
    const entries = readSecretFile(secretsPath(home))
    for (const entry of entries.filter(({ name }) => names.includes(name))) {
      if (entry.from === 'env') known[entry.name] = process.env[entry.content] ?? ''
      if (entry.from === 'value') known[entry.name] = open(home, placeOf(entry.name, 'value'), entry.content)
    }
  } catch {
    // The launch reads them again and fails with the reason.
  }
  return known
}

/** The values of these secrets, by name. Throws `secret_missing`, `secret_unavailable`, `secret_unreadable`, `secrets_broken`. */
export async function readSecrets(
  home: string,
  resolver: string,
  names: readonly string[] | undefined,
  signal?: AbortSignal,
): Promise<Record<string, string>> {
  requireSecrets(home, resolver, names)
  const values: Record<string, string> = {}
  if (names === undefined || names.length === 0) return values
  const entries = readSecretFile(secretsPath(home))
  for (const { name, from, content } of entries.filter((entry) => names.includes(entry.name))) {
    if (from === 'env') values[name] = process.env[content] ?? ''
    else {
      const text = open(home, placeOf(name, from), content)
      values[name] = from === 'value' ? text : outputOf(await runSecretCommand(text, signal), name)
    }
  }
  return values
}

function outputOf(outcome: CommandOutcome, name: string): string {
  if ('value' in outcome) return outcome.value
  throw fail('secret_unavailable', { name, reason: outcome.reason })
}

async function changed<T>(
  home: string,
  change: (entries: SecretEntry[]) => { entries: SecretEntry[]; result: T },
): Promise<T> {
  const path = secretsPath(home)
  return await inHome(home, () =>
    withLock(`${path}.lock`, async () => {
      const { entries, result } = change(readSecretFile(path))
      await writeSecretFile(path, entries)
      return result
    }),
  )
}

function refuseName(name: string): void {
  if (isSecretName(name)) return
  throw fail('usage', {
    problem: `"${String(name).slice(0, 80)}" can't name a secret: use up to 64 letters, digits and "_", beginning with a letter.`,
  })
}

function refuseContent(from: SecretSource, text: string): void {
  const what = { value: 'value', env: 'variable', command: 'command' }[from]
  if (text === '') throw fail('usage', { problem: `The ${what} of a secret can't be empty.` })
  if (text.includes('\0')) throw fail('usage', { problem: `The ${what} of a secret can't have a NUL.` })
  const bytes = Buffer.byteLength(text)
  if (bytes > SECRET_VALUE_MAX_BYTES) {
    throw fail('input_too_large', { what: `${what} of the secret`, bytes, limit: SECRET_VALUE_MAX_BYTES })
  }
}

function placeOf(name: string, from: SecretSource): string {
  return `secret ${name} (${from})`
}

function infoOf({ name, from, created_at, updated_at }: SecretEntry): SecretInfo {
  return { name, from, created_at, updated_at }
}
