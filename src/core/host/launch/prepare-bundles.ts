/**
 * Fetches the bundles of an instance before its worker begins, and tells what of them can't run (docs/sessions.md, Bundles).
 * {@link file://./../lifecycle/launch.ts} calls it. Their trees are in the home, and the worker only reads them.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { FetchedBundle } from '../../bundles/fetch/fetch-bundles.ts'
import type { BundleNote } from '../../bundles/walk.ts'
import { SESSION_BUNDLE_NOTES_MAX, SESSION_BUNDLES_LIMIT_MS } from '../../limits.ts'
import type { BundleEntry } from '../../protocol/instance.ts'
import type { CreationRecord } from '../../protocol/journal.ts'
import type { BundleDirectory } from '../../worker/worker.ts'
import type { Ledger } from '../ledger/ledger.ts'

interface BundleWork {
  home: string
  ledger: Ledger
  /** The token of the git host; empty for none. */
  token: string
  write: (line: () => void) => Promise<void>
  signal: AbortSignal
}

/** For the config, and for the launch of the worker. */
export interface PreparedBundles {
  entries: BundleEntry[]
  directories: BundleDirectory[]
}

/** Throws `bundle_failed`, and the signal's reason. */
export async function prepareBundles(work: BundleWork): Promise<PreparedBundles> {
  const { home, ledger, token, write, signal } = work
  const { creation, wantedIncarnation } = ledger.story
  const addresses = creation.container?.bundles ?? creation.bundles ?? []
  if (addresses.length === 0) return { entries: [], directories: [] }
  // Few resolvers have bundles: the parser of YAML is not loaded for the others.
  const { fetchBundles } = await import('../../bundles/fetch/fetch-bundles.ts')
  const places = placesOf(creation)
  const startedMs = Date.now()
  let [fetched, isCached] = [0, true]
  const { bundles, notes, pins } = await fetchBundles({
    ...{
      home,
      addresses,
      token,
      signal,
      pins: ledger.story.bundles ?? [],
      resolverDirectory: creation.resolver.dir,
      override: places.override,
    },
    keepsCopies: wantedIncarnation > 1,
    deadline: startedMs + SESSION_BUNDLES_LIMIT_MS,
    onFetch: async ({ name, step, total }) => {
      if (step === 1) await write(() => ledger.record('platform.setup.starting', { total }))
      const place = { step, total, description: `Fetch the bundle ${name}` }
      await write(() => ledger.record('platform.setup.progress', place))
    },
    onFetched: async ({ name, step, total }, outcome) => {
      fetched += 1
      const place = { step, total, description: `Fetch the bundle ${name}` }
      const end =
        typeof outcome === 'string' ? { exit_code: 1, output: outcome } : { exit_code: 0, output: outcomeText(outcome) }
      if (typeof outcome === 'string' || !outcome.isCached) isCached = false
      await write(() => ledger.record('platform.setup.progress', { ...place, ...end }))
    },
  })
  if (fetched > 0) {
    const duration_s = (Date.now() - startedMs) / 1000
    await write(() =>
      ledger.record('platform.setup.completed', { total: fetched, cached: isCached, duration_s, bundles: pins }),
    )
  }
  if (wantedIncarnation === 1) await warn(work, notes)
  return places.of(bundles)
}

function outcomeText({ commit, isCached, stale }: { commit: string; isCached: boolean; stale?: string }): string {
  const at = commit.slice(0, 12)
  if (stale !== undefined) return `${at}, the copy of an earlier run: ${stale}`
  return isCached ? `${at}, already here` : at
}

async function warn({ ledger, write }: BundleWork, notes: readonly BundleNote[]): Promise<void> {
  for (const kind of ['unsupported', 'faulty'] as const) {
    const found = notes.filter((note) => note.kind === kind)
    if (found.length === 0) continue
    const named = found.slice(0, SESSION_BUNDLE_NOTES_MAX).map(({ bundle, what }) => `${bundle}: ${what}`)
    const rest = found.length > named.length ? [`and ${found.length - named.length} more`] : []
    const detail = [...named, ...rest].join('; ').slice(0, DETAIL_MAX_CHARS)
    const warning = { kind: `bundle_${kind}`, value: found.length, limit: 0, detail }
    await write(() => ledger.record('platform.watchdog.warning', warning))
  }
}

const DETAIL_MAX_CHARS = 4_000

/** Where bundles are, for the host and for the worker. */
function placesOf({ executor, resolver, container }: CreationRecord) {
  const isContainer = executor === 'docker'
  const names = container?.dev_source_overrides ?? resolver.manifest.container?.dev_source_overrides ?? []
  const sources = process.env['RESOLVE_DEV_SOURCES'] ?? ''
  const onHost = (name: string) => {
    const path = join(sources, name)
    return sources !== '' && existsSync(path) ? path : undefined
  }
  /** The directory in the container for each one of this machine. */
  const seen = new Map<string, string>()
  const seenPath = ({ name, path, isOwn, commit }: FetchedBundle): string => {
    if (!isContainer || path === null) return path ?? ''
    if (isOwn) return RESOLVER_IN_CONTAINER + path.slice(resolver.dir.length)
    if (commit === null) return `${OPT_IN_CONTAINER}/${name}`
    const before = seen.get(path)
    if (before !== undefined) return before
    const taken = new Set(seen.values())
    let free = `${BUNDLES_IN_CONTAINER}/${name}`
    for (let number = 2; taken.has(free); number += 1) free = `${BUNDLES_IN_CONTAINER}/${name}-${number}`
    seen.set(path, free)
    return free
  }
  return {
    /** The developer's own directory; in a container the image may have it. */
    override: (name: string) =>
      names.includes(name) ? (onHost(name) ?? (isContainer ? join(OPT_IN_CONTAINER, name) : undefined)) : undefined,
    of(bundles: readonly FetchedBundle[]): PreparedBundles {
      const directories = new Map<string, BundleDirectory>()
      const entries = bundles.map((bundle): BundleEntry => {
        const { address, name, path, subdirectory, commit, isIncluded, isOwn, reason } = bundle
        const at = path === null ? null : seenPath(bundle)
        if (path !== null && at !== null) {
          // The mounts of a resolver and of its overrides are there already.
          const source = isContainer && !isOwn && commit !== null ? path : null
          const isListed = !isIncluded || directories.get(at)?.isListed === true
          directories.set(at, { source, seen: at, isListed })
        }
        const why = reason === undefined ? {} : { reason }
        return { address, name, path: at, subdirectory, commit, included: isIncluded, ...why }
      })
      return { entries, directories: [...directories.values()] }
    },
  }
}

const RESOLVER_IN_CONTAINER = '/resolver'
const OPT_IN_CONTAINER = '/opt'
const BUNDLES_IN_CONTAINER = '/opt/bundles'
