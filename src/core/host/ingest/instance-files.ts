/** Reads the files of an instance without its host: state, data files, stderr (R13). The platform calls it. */
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fail, ResolveError } from '../../errors.ts'
import { DATA_LISTING_MAX_FILES, STDERR_TAIL_BYTES } from '../../limits.ts'
import { DATA_DIR, STATE_FILE } from '../../protocol/coordination.ts'
import type { TranscriptDocument } from '../../protocol/session/session.ts'
import { isTerminal } from '../../protocol/status.ts'
import { type Redactor, redactorOf } from '../../redaction/redact.ts'
import { readSealedTexts } from '../../secrets/sealed-texts.ts'
import { type InstancePaths, instancePaths } from '../../store/home.ts'
import { readRecord } from '../../store/record.ts'
import { LocalDriver } from '../../worker/local/local.ts'
import { carriersOf } from '../../worker/local/process-tree.ts'
import type { CoordinationDirectory, OpenFile } from '../../worker/worker.ts'
import { secretsInCoordination, secretsOfHost } from './secrets.ts'
import { readTranscriptFile, transcriptSizes } from './session-transcript.ts'
import { readState } from './state-snapshot.ts'

/** Known secrets are redacted (threats B9). */
export function readInstanceState(paths: InstancePaths): Record<string, unknown> | null {
  return readSnapshot(paths)?.state ?? null
}

/** The state snapshot and when it was saved; undefined before the first one. Known secrets are redacted; throws as {@link readStderrTail}. */
export function readSnapshot(paths: InstancePaths): { state: Record<string, unknown>; savedMs: number } | undefined {
  return withCoordination(paths, undefined, (coordination) => {
    const state = redactorWith(secretTexts(paths), coordination).value(readState(coordination))
    return state === null ? undefined : { state, savedMs: savedAt(coordination) }
  })
}

/** Where the file vanished since it was read, it was saved long ago. */
function savedAt(coordination: CoordinationDirectory): number {
  const file = coordination.open(STATE_FILE)
  file?.close()
  return file?.modifiedMs ?? 0
}

export interface ListedFile {
  path: string
  bytes: number
  /** ISO-8601 UTC. */
  modified_at: string
}

export async function listData(paths: InstancePaths): Promise<ListedFile[]> {
  if (!existsSync(paths.project)) return []
  const coordination = new LocalDriver(paths).openCoordination()
  try {
    const files = await coordination.list(DATA_DIR, DATA_LISTING_MAX_FILES)
    return files.map(({ path, bytes, modifiedMs }) => ({
      ...{ path, bytes },
      modified_at: new Date(modifiedMs).toISOString(),
    }))
  } finally {
    coordination.close()
  }
}

/** Throws `path_refused`, and `file_unknown` for anything but a regular file below `data/`. */
export function openData(paths: InstancePaths, path: string): OpenFile {
  try {
    const opened = withCoordination(paths, undefined, (coordination) => coordination.open(`${DATA_DIR}/${path}`))
    if (opened !== undefined) return opened
  } catch (error) {
    if (!(error instanceof ResolveError) || error.code !== 'coordination_tampered') throw error
  }
  throw fail('file_unknown', { path })
}

/** Known secrets are redacted (threats B9). Throws `session_unknown`, and as {@link readStderrTail}. */
export async function readTranscript(
  paths: InstancePaths,
  sessionId: string,
  after?: number,
  bytes?: number,
): Promise<TranscriptDocument> {
  const sealed = secretTexts(paths)
  if (!existsSync(paths.project)) throw fail('session_unknown', { session: sessionId.slice(0, 80) })
  const coordination = new LocalDriver(paths).openCoordination()
  try {
    return await readTranscriptFile(coordination, sessionId, redactorWith(sealed, coordination), after, bytes)
  } finally {
    coordination.close()
  }
}

/** How long the transcripts of these sessions are. */
export function readTranscriptSizes(paths: InstancePaths, sessionIds: readonly string[]): Record<string, number> {
  if (sessionIds.length === 0 || !existsSync(paths.project)) return {}
  const coordination = new LocalDriver(paths).openCoordination()
  try {
    return transcriptSizes(coordination, sessionIds)
  } finally {
    coordination.close()
  }
}

/** Known secrets are redacted (threats B9). Throws `secret_unreadable`, `secret_key_unusable` where they are not known. */
export function readStderrTail(paths: InstancePaths): string {
  const driver = new LocalDriver(paths)
  const sealed = secretTexts(paths)
  let redactor = redactorOf([...secretsOfHost(), ...sealed])
  try {
    redactor = withCoordination(paths, redactor, (coordination) => redactorWith(sealed, coordination))
  } catch (error) {
    // A coordination directory that the resolver damaged has no valid config.
    if (!(error instanceof ResolveError)) throw error
  }
  return redactor.tail((bytes) => driver.stderrTail(bytes), STDERR_TAIL_BYTES)
}

/**
 * While the instance runs, its secrets are in the worker's config. Afterwards the host has redacted its files, and only this
 * process's own credentials are left to look for.
 */
function redactorWith(sealed: readonly string[], coordination: CoordinationDirectory): Redactor {
  return redactorOf([...new Set([...secretsInCoordination(coordination), ...secretsOfHost(), ...sealed])])
}

/**
 * The list of secret texts. Throws `secret_unreadable`, `secret_key_unusable` where it cannot be opened: then nothing of a worker is handed
 * out. After an end or a pause it is not needed, because the host has redacted the files before it recorded that.
 */
function secretTexts(paths: InstancePaths): string[] {
  const { root } = paths
  try {
    return readSealedTexts(dirname(dirname(root)), root, basename(root))
  } catch (error) {
    if (error instanceof ResolveError && isScrubbed(paths)) return []
    throw error
  }
}

function isScrubbed(paths: InstancePaths): boolean {
  const { status } = readRecord(paths)
  return isTerminal(status) || status === 'paused'
}

/** Throws as {@link readStderrTail}, before anything is sent. */
export function requireSecretTexts(paths: InstancePaths): void {
  secretTexts(paths)
}

/** Running processes of the workers of this home, by instance id. They are found by the mark in their environment. */
export function workerProcesses(home: string): Map<string, number[]> {
  const found = new Map<string, number[]>()
  for (const [directory, pids] of carriersOf('RESOLVE_DIR')) {
    const id = basename(dirname(dirname(directory)))
    if (directory === join(instancePaths(home, id).project, '.resolve')) found.set(id, pids)
  }
  return found
}

/** Ends every remaining worker process of an ended instance. */
export async function endWorkerProcesses(paths: InstancePaths): Promise<void> {
  await new LocalDriver(paths).sweep()
}

function withCoordination<T>(paths: InstancePaths, missing: T, read: (coordination: CoordinationDirectory) => T): T {
  if (!existsSync(paths.project)) return missing
  const coordination = new LocalDriver(paths).openCoordination()
  try {
    return read(coordination)
  } finally {
    coordination.close()
  }
}
