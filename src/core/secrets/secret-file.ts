/** Reads and writes secrets.json as a whole for {@link file://./secret-store.ts}; the values in it are sealed (R55). */
import { fail, systemCode } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { readRegularFile } from '../files/read-regular-file.ts'
import { type WriteStep, writeWhole } from '../files/write-whole.ts'
import { SECRETS_FILE_MAX_BYTES } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import { SECRET_SOURCES, type SecretSource } from '../protocol/api/secrets.ts'
import { isSecretName } from '../protocol/manifest.ts'

export interface SecretEntry {
  name: string
  from: SecretSource
  /** The sealed value, or the sealed command; for `env` the name of the variable. */
  content: string
  /** ISO-8601 UTC. */
  created_at: string
  updated_at: string
}

/** Throws `secrets_broken`. */
export function readSecretFile(path: string): SecretEntry[] {
  let text: string
  try {
    text = readRegularFile(path, (stat) => {
      if (!stat.isFile() || stat.size > SECRETS_FILE_MAX_BYTES) throw broken(path, 'it is not a file of secrets')
    })
  } catch (error) {
    const code = systemCode(error)
    if (code === undefined) throw error
    if (code === 'ENOENT' || code === 'ENOTDIR') return []
    throw broken(path, code === 'ELOOP' ? 'it is a link' : `the system answered ${code}`, error)
  }
  const entries = entriesIn(text)
  if (entries === undefined) throw broken(path, 'it is damaged, or of another version')
  return entries
}

/** Replaces the file durably, mode 0600. Throws the system's error; the old file is then unchanged. */
export async function writeSecretFile(path: string, secrets: readonly SecretEntry[]): Promise<void> {
  const onStep = (step: WriteStep) => failpoint(`secrets.${step}`)
  const text = `${JSON.stringify({ schema_version: 1, secrets }, null, 2)}\n`
  await writeWhole(path, text, { mode: 0o600, durable: true, onStep })
}

function entriesIn(text: string): SecretEntry[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value) || value['schema_version'] !== 1 || !Array.isArray(value['secrets'])) return undefined
    return value['secrets'].every(isEntry) ? value['secrets'] : undefined
  } catch {
    return undefined
  }
}

function isEntry(value: unknown): value is SecretEntry {
  if (!isObject(value) || !isSecretName(value['name'])) return false
  const texts = ['content', 'created_at', 'updated_at'].every((key) => typeof value[key] === 'string')
  return texts && SECRET_SOURCES.some((source) => source === value['from'])
}

function broken(path: string, reason: string, cause?: unknown) {
  return fail('secrets_broken', { path, reason }, { cause })
}
