/** Reads and writes notify.json as a whole for {@link file://./targets.ts}; addresses and signing keys in it are sealed. */
import { join } from 'node:path'
import { fail, systemCode } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { readRegularFile } from '../files/read-regular-file.ts'
import { type WriteStep, writeWhole } from '../files/write-whole.ts'
import { MIB } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import { NOTIFY_KINDS, type NotifyEvent, type NotifyKind } from '../protocol/api/notify.ts'

export interface TargetEntry {
  /** 8 hexadecimal digits: a target that is added again under its name is another one. */
  id: string
  name: string
  kind: NotifyKind
  /** `{url, secret}` as JSON, sealed; null for the desktop. */
  sealed: string | null
  /** Scheme and host of the address. */
  address: string | null
  events: NotifyEvent[]
  resolver: string | null
  link: string | null
  /** ISO-8601 UTC. Earlier events are not sent. */
  created_at: string
}

const FILE_MAX_BYTES = 1 * MIB

export function targetsPath(home: string): string {
  return join(home, 'notify.json')
}

/** Throws `notify_broken`. */
export function readTargetFile(home: string): TargetEntry[] {
  const path = targetsPath(home)
  let text: string
  try {
    text = readRegularFile(path, (stat) => {
      if (!stat.isFile() || stat.size > FILE_MAX_BYTES) throw broken(path, 'it is not a file of targets')
    })
  } catch (error) {
    const code = systemCode(error)
    if (code === undefined) throw error
    if (code === 'ENOENT' || code === 'ENOTDIR') return []
    throw broken(path, `the system answered ${code}`)
  }
  try {
    const value: unknown = JSON.parse(text)
    const targets = isObject(value) && value['schema_version'] === 1 ? value['targets'] : undefined
    if (Array.isArray(targets) && targets.every(isEntry)) return targets
  } catch {
    // Reported below.
  }
  throw broken(path, 'it is damaged, or of another version')
}

/** Replaces the file durably, mode 0600. Throws the system's error; the old file is then unchanged. */
export async function writeTargetFile(home: string, targets: readonly TargetEntry[]): Promise<void> {
  const onStep = (step: WriteStep) => failpoint(`targets.${step}`)
  const text = `${JSON.stringify({ schema_version: 1, targets }, null, 2)}\n`
  await writeWhole(targetsPath(home), text, { mode: 0o600, durable: true, onStep })
}

function isEntry(value: unknown): value is TargetEntry {
  if (!isObject(value) || !Array.isArray(value['events'])) return false
  const texts = ['id', 'name', 'created_at'].every((key) => typeof value[key] === 'string')
  return texts && NOTIFY_KINDS.some((kind) => kind === value['kind'])
}

function broken(path: string, reason: string) {
  return fail('notify_broken', { path, reason })
}
