/**
 * Reads and writes resolvers.json, the one list of resolvers (spec, What the service does 7). The catalog calls it. The file is
 * always read, checked and replaced as a whole.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import { fail, type ResolveError, systemCode } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { type WriteStep, writeWhole } from '../files/write-whole.ts'
import { CATALOG_MAX_BYTES } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import type { SourceKind } from '../protocol/catalog.ts'
import { type Manifest, RESOLVER_NAME_PATTERN } from '../protocol/manifest.ts'
import { readJson } from './manifest/json-text.ts'
import { parseManifest } from './manifest/parse-manifest.ts'
import { parseSource, uploadSource } from './manifest/source.ts'

export interface StoredEntry {
  kind: SourceKind | 'upload'
  /** "builtin", an absolute path, the git address as it was given, or `upload:` and the digest of the archive. */
  source: string
  ref: string | null
  commit: string | null
  /** ISO-8601 UTC. */
  added_at: string
  /** The commit of viewport_bundle, where the manifest has one and it was fetched. */
  viewport_commit?: string
  /** The manifest as its author wrote it; it was valid when it was stored. */
  manifest: Manifest
  /** Digest of the manifest's JSON: while it matches, the manifest need not be checked again. */
  manifest_sha256: string
}

export interface StoredCatalog {
  resolvers: Map<string, StoredEntry>
  /** Built-in resolvers that a user removed. They are not added again automatically. */
  removed_builtins: string[]
}

export interface CatalogReading {
  /** The valid part of the file; everything in it exactly when `problem` is null. */
  stored: StoredCatalog
  problem: ResolveError | null
  /** Changes when the file changes; "missing" where there is no file. */
  fingerprint: string
}

const NAME = new RegExp(RESOLVER_NAME_PATTERN)
const TOP_KEYS = ['schema_version', 'resolvers', 'removed_builtins']
const ENTRY_KEYS = ['kind', 'source', 'ref', 'commit', 'added_at', 'viewport_commit', 'manifest', 'manifest_sha256']

/**
 * Never throws because of the file's content; throws the system's error only when a parent of the path is not a directory. A
 * file that still has the `known` fingerprint is not read again: the result is then empty.
 */
export async function readCatalogFile(path: string, known?: string): Promise<CatalogReading> {
  const nothing: StoredCatalog = { resolvers: new Map(), removed_builtins: [] }
  const broken = (reason: string, fingerprint: string, stored = nothing): CatalogReading => ({
    stored,
    problem: fail('catalog_broken', { path, reason }),
    fingerprint,
  })
  let bytes: Buffer
  let fingerprint = 'unreadable'
  try {
    // Opened non-blocking, because a FIFO in its place would block the open.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = await file.stat({ bigint: true })
      fingerprint = `${stat.ino}:${stat.size}:${stat.mtimeNs}`
      if (!stat.isFile()) return broken('it is not a regular file', fingerprint)
      if (fingerprint === known) return { stored: nothing, problem: null, fingerprint }
      if (stat.size > CATALOG_MAX_BYTES)
        return broken(`it has ${stat.size} bytes; the limit is ${CATALOG_MAX_BYTES}`, fingerprint)
      bytes = await file.readFile()
    } finally {
      await file.close()
    }
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT') return { stored: nothing, problem: null, fingerprint: 'missing' }
    if (code === 'ENOTDIR' || code === undefined) throw error
    return broken(`it can't be read (${code})`, fingerprint)
  }
  const json = readJson(bytes)
  if (json.reason !== null) return broken(json.reason, fingerprint)
  const { stored, faults } = await checkCatalog(json.value)
  for (const { inside, key } of json.duplicates) {
    faults.push(`${JSON.stringify([...inside, key].join('.'))} is given twice`)
    stored.resolvers.delete(inside[0] === 'resolvers' ? (inside[1] ?? key) : '')
  }
  return faults.length === 0 ? { stored, problem: null, fingerprint } : broken(faults.join('; '), fingerprint, stored)
}

/** Replaces the file durably, mode 0600. Throws the system's error; the old file is then unchanged. */
export async function writeCatalogFile(path: string, stored: StoredCatalog): Promise<void> {
  const names = [...stored.resolvers.keys()].sort()
  const resolvers = Object.fromEntries(names.map((name) => [name, stored.resolvers.get(name)]))
  const whole = { schema_version: 1, resolvers, removed_builtins: [...stored.removed_builtins].sort() }
  const onStep = (step: WriteStep) => failpoint(`catalog.${step}`)
  await writeWhole(path, `${JSON.stringify(whole, null, 2)}\n`, { mode: 0o600, durable: true, onStep })
}

export function digestOf(manifest: unknown): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}

async function checkCatalog(value: unknown): Promise<{ stored: StoredCatalog; faults: string[] }> {
  const stored: StoredCatalog = { resolvers: new Map(), removed_builtins: [] }
  if (!isObject(value)) return { stored, faults: ['it is not a JSON object'] }
  const faults = unknownKeys(value, TOP_KEYS).map((key) => `"${key}" is not a known field`)
  if (value.schema_version !== 1)
    faults.push('its schema_version is not 1: another version of resolve may have written it')
  const removed = value.removed_builtins ?? []
  if (Array.isArray(removed) && removed.every((name) => typeof name === 'string')) stored.removed_builtins = removed
  else faults.push('removed_builtins is not a list of names')
  if (!isObject(value.resolvers)) return { stored, faults: [...faults, 'it has no "resolvers" object'] }
  for (const [name, entry] of Object.entries(value.resolvers)) {
    const fault = await entryFault(name, entry)
    if (fault === null) stored.resolvers.set(name, entry as StoredEntry)
    else faults.push(`the entry ${JSON.stringify(name)} is incomplete or invalid: ${fault}`)
  }
  return { stored, faults }
}

async function entryFault(name: string, entry: unknown): Promise<string | null> {
  if (!NAME.test(name)) return "its name is not a resolver's name"
  if (!isObject(entry)) return 'it is not an object'
  const [odd] = unknownKeys(entry, ENTRY_KEYS)
  if (odd !== undefined) return `"${odd}" is not a known field`
  const fault = sourceFault(entry)
  if (fault !== null) return fault
  if (typeof entry.added_at !== 'string' || Number.isNaN(Date.parse(entry.added_at))) return 'added_at is not a time'
  if (entry.viewport_commit !== undefined && !isCommit(entry.viewport_commit)) return 'viewport_commit is not a commit'
  if (!isObject(entry.manifest)) return 'it has no manifest'
  if (entry.manifest.name !== name) return 'its manifest has another name'
  if (entry.manifest_sha256 === digestOf(entry.manifest)) return null
  // A user may edit the file by hand, so a manifest is checked again when its digest differs.
  const { errors } = await parseManifest(entry.manifest)
  return errors[0]?.replace(/\.$/, '') ?? null
}

function sourceFault({ kind, source, ref, commit }: Record<string, unknown>): string | null {
  if (typeof source !== 'string') return 'source is not a text'
  if (ref !== null && typeof ref !== 'string') return 'ref is not a text or null'
  if (kind === 'builtin')
    return source === 'builtin' && commit === null ? null : 'a built-in resolver has no other source'
  if (kind === 'directory') return isAbsolute(source) && commit === null ? null : 'source is not an absolute path'
  if (kind === 'upload') {
    return uploadSource(source) !== undefined && commit === null ? null : 'source is not "upload:" and a digest'
  }
  if (kind !== 'git') return 'kind is not builtin, directory, git or upload'
  if (!isCommit(commit)) return 'commit is not a commit'
  return isGitSource(source) ? null : 'source is not a git address'
}

function isCommit(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{40}([0-9a-f]{24})?$/.test(value)
}

function isGitSource(source: string): boolean {
  try {
    return parseSource(source, '/').kind === 'git'
  } catch {
    return false
  }
}

function unknownKeys(value: Record<string, unknown>, known: readonly string[]): string[] {
  return Object.keys(value).filter((key) => !known.includes(key))
}
