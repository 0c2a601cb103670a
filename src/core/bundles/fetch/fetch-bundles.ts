/**
 * Fetches the bundles of a resolver with everything that they include (docs/sessions.md, Bundles). The host calls it in the setup of an
 * instance. It reads what was fetched to learn what that includes, and runs nothing of it.
 */
import { realpathSync, statSync } from 'node:fs'
import { basename, join, sep } from 'node:path'
import { type BundleAddress, type GitBundle, parseBundleAddress } from '../../catalog/manifest/bundle-address.ts'
import { fail, ResolveError } from '../../errors.ts'
import { isOnForge } from '../../git/git-access.ts'
import { gitHosts } from '../../git/git-hosts.ts'
import {
  SESSION_BUNDLE_DEPTH_MAX,
  SESSION_BUNDLE_FETCHES_AT_ONCE,
  SESSION_BUNDLE_REPOS_MAX,
  SESSION_BUNDLE_UNITS_MAX,
} from '../../limits.ts'
import { AddressFault, parseRepoAddress } from '../../workspace/repo-address.ts'
import { type BundleNote, type BundlePlace, type FoundPlace, isSatisfied } from '../walk.ts'
import { type CachedBundle, cachedBundle } from './bundle-cache.ts'
import { surveyBundles } from './survey.ts'

export interface BundlesRequest {
  home: string
  /** As the manifest names them. */
  addresses: readonly string[]
  /** The directory of the resolver, for `./path`. */
  resolverDirectory: string
  /** A directory that stands for a bundle of this name; undefined for none. */
  override: (name: string) => string | undefined
  keepsCopies: boolean
  /** The token of the configured git host; empty for none. What a bundle includes is fetched without it. */
  token: string
  /** What the instance began with. */
  pins: readonly BundlePin[]
  deadline: number
  signal: AbortSignal
  /** A repository is about to be fetched, and then is there. */
  onFetch: (fetch: BundleFetch) => Promise<void>
  onFetched: (fetch: BundleFetch, outcome: CachedBundle | string) => Promise<void>
}

/** Which commit an address and its ref meant. */
export interface BundlePin {
  url: string
  ref: string | null
  commit: string
}

export interface BundleFetch {
  name: string
  /** Which one it is, and how many are known so far. */
  step: number
  total: number
}

/** What an address became. */
export interface FetchedBundle {
  address: string
  name: string
  /** On this machine; null where it is not there. */
  path: string | null
  subdirectory: string
  commit: string | null
  /** Named by another bundle, not by the resolver. */
  isIncluded: boolean
  /** In the directory of the resolver. */
  isOwn: boolean
  /** Why it is not there; absent where this platform stands for it. */
  reason?: string
}

/** Throws `bundle_failed` for a bundle of the resolver itself, and the signal's reason; of an included one the reason is told. */
export async function fetchBundles(
  request: BundlesRequest,
): Promise<{ bundles: FetchedBundle[]; notes: BundleNote[]; pins: BundlePin[] }> {
  const fetcher = new Fetcher(request)
  const tops = [...new Set(request.addresses)]
  let wanted: string[] = tops
  const known = new Map<string, FetchedBundle>()
  const found = new Map<string, FoundPlace>()
  for (let round = 0; ; round += 1) {
    for (const one of await fetcher.fetchAll(wanted, round > 0)) {
      known.set(one.address, one)
      found.set(one.address, toPlace(one))
    }
    const places = tops.map((address) => found.get(address)).filter(isPlace)
    const survey = await surveyBundles({ places, known: found }, request.signal)
    wanted = survey.wanted.slice(0, Math.max(0, SESSION_BUNDLE_UNITS_MAX - known.size))
    if (wanted.length === 0 || round > SESSION_BUNDLE_DEPTH_MAX)
      return { bundles: [...known.values()], notes: survey.notes, pins: fetcher.pins }
  }
}

function toPlace({ name, path, subdirectory, reason }: FetchedBundle): FoundPlace {
  if (path !== null) return { name, path, subdirectory }
  return reason === undefined ? 'satisfied' : { refused: reason }
}

function isPlace(found: FoundPlace): found is BundlePlace {
  return typeof found === 'object' && 'path' in found
}

class Fetcher {
  readonly #request: BundlesRequest
  /** By address of the repository and ref. */
  readonly #repos = new Map<string, Promise<CachedBundle>>()
  readonly pins: BundlePin[] = []

  constructor(request: BundlesRequest) {
    this.#request = request
  }

  async fetchAll(addresses: readonly string[], isIncluded: boolean): Promise<FetchedBundle[]> {
    const found: FetchedBundle[] = []
    const queue = [...addresses]
    const work = async () => {
      for (let address = queue.shift(); address !== undefined; address = queue.shift())
        found.push(await this.#fetch(address, isIncluded))
    }
    const ends = await Promise.allSettled(
      Array.from({ length: SESSION_BUNDLE_FETCHES_AT_ONCE }, () =>
        work().catch((error: unknown) => {
          queue.length = 0
          throw error
        }),
      ),
    )
    const failed = ends.find((end) => end.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    return addresses.flatMap((address) => found.filter((one) => one.address === address))
  }

  async #fetch(address: string, isIncluded: boolean): Promise<FetchedBundle> {
    const about = { address, isIncluded, isOwn: false, commit: null, subdirectory: '', name: nameOf(address) }
    if (isIncluded && isSatisfied(address)) return { ...about, path: null }
    try {
      const parsed = parseBundleAddress(address)
      const { subdirectory } = parsed
      if (parsed.kind === 'directory') return { ...about, ...this.#ownDirectory(parsed, isIncluded), subdirectory }
      const name = repoName(parsed.repo)
      const instead = isIncluded ? undefined : this.#request.override(name)
      if (instead !== undefined) return { ...about, name, path: instead, subdirectory }
      const { path, commit } = await this.#repo(parsed, isIncluded)
      return { ...about, name, path, commit, subdirectory }
    } catch (error) {
      this.#request.signal.throwIfAborted()
      if (!(error instanceof ResolveError)) throw error
      const reason = String(error.details['reason'] ?? error.message)
      if (!isIncluded) throw fail('bundle_failed', { bundle: address, reason }, { cause: error })
      return { ...about, path: null, reason }
    }
  }

  /** A link must not lead out of the directory of the resolver. */
  #ownDirectory({ path }: Extract<BundleAddress, { kind: 'directory' }>, isIncluded: boolean) {
    const refuse = (reason: string) => fail('source_invalid', { source: path, reason })
    if (isIncluded) throw refuse('only a resolver can name its own directory')
    const { resolverDirectory } = this.#request
    const full = join(resolverDirectory, path)
    if (statSync(full, { throwIfNoEntry: false })?.isDirectory() !== true) throw refuse('there is no such directory')
    if (!realpathSync(full).startsWith(realpathSync(resolverDirectory) + sep))
      throw refuse('it leads out of the directory of the resolver')
    return { path: full, name: basename(path), isOwn: true }
  }

  async #repo({ repo, ref }: GitBundle, isIncluded: boolean): Promise<CachedBundle> {
    const url = checkedUrl(repo, isIncluded)
    const isOwn = !isIncluded && isOnForge(url, gitHosts())
    const key = JSON.stringify([url, ref, isOwn])
    const running = this.#repos.get(key)
    if (running !== undefined) return await running
    if (this.#repos.size >= SESSION_BUNDLE_REPOS_MAX)
      throw fail('source_invalid', {
        source: url,
        reason: `there are more than ${SESSION_BUNDLE_REPOS_MAX} repositories`,
      })
    const made = this.#fetchRepo(url, ref, isOwn)
    this.#repos.set(key, made)
    return await made
  }

  async #fetchRepo(url: string, ref: string | null, isOwn: boolean): Promise<CachedBundle> {
    const { home, keepsCopies, pins, deadline, signal, onFetch, onFetched } = this.#request
    const step = this.#repos.size + 1
    const fetch = () => ({ name: repoName(url), step, total: Math.max(step, this.#repos.size) })
    await onFetch(fetch())
    try {
      const token = isOwn ? this.#request.token : ''
      const pinned = pins.find((pin) => pin.url === url && pin.ref === ref)?.commit
      const found = await cachedBundle({
        ...{ home, url, ref, token, isOwn, pinned, deadline, signal },
        keepsCopy: keepsCopies,
      })
      if (!this.pins.some((pin) => pin.url === url && pin.ref === ref))
        this.pins.push({ url, ref, commit: found.commit })
      await onFetched(fetch(), found)
      return found
    } catch (error) {
      if (error instanceof ResolveError && !signal.aborted)
        await onFetched(fetch(), String(error.details['reason'] ?? error.message))
      throw error
    }
  }
}

/** What a bundle includes is named by a stranger: it can't use the keys of this machine. Throws `source_invalid`. */
function checkedUrl(repo: string, isIncluded: boolean): string {
  try {
    const { url } = parseRepoAddress(repo, gitHosts())
    if (isIncluded && !/^https?:/.test(url))
      throw fail('source_invalid', { source: repo, reason: 'a bundle can include only https addresses' })
    return url
  } catch (error) {
    if (error instanceof AddressFault) throw fail('source_invalid', { source: repo, reason: error.reason })
    throw error
  }
}

/** The last part of an address, for people and as a directory. */
function repoName(repo: string): string {
  const last = /([^/:]+?)(?:\.git)?\/*$/.exec(repo)?.[1] ?? ''
  return (
    last
      .replace(/[^\w.-]+/g, '-')
      .replace(/^[.-]+/, '')
      .slice(0, 64) || 'bundle'
  )
}

function nameOf(address: string): string {
  return repoName(address.replace(/[@#].*$/s, ''))
}
