/** Parses the address of a bundle, as a manifest or another bundle names it (docs/manifest.md, Bundles). Works on the text only. */
import { fail, ResolveError } from '../../errors.ts'
import { gitAddressFault, isRef, parseGitSource, withoutSecrets } from './source.ts'

export type BundleAddress = GitBundle | DirectoryBundle

export interface GitBundle {
  kind: 'git'
  /** `https://…`, `ssh://…`, `user@host:path`, or `owner/repo` of the operator's git host. */
  repo: string
  /** null for the default branch. */
  ref: string | null
  /** The bundle in the repository, a directory or a file; empty for its root. */
  subdirectory: string
}

export interface DirectoryBundle {
  kind: 'directory'
  /** Relative to the directory of the resolver, without `./`. */
  path: string
  subdirectory: string
}

const SHORT = /^(\w[\w.-]*(?:\/\w[\w.-]*)+)(?:@(.+))?$/
const SUBDIRECTORY = /^subdirectory=(.*)$/

/** Throws `source_invalid` with the reason. */
export function parseBundleAddress(given: string): BundleAddress {
  const text = given.trim()
  const refuse = (reason: string) => fail('source_invalid', { source: withoutSecrets(text).slice(0, 300), reason })
  if (text.length > 2048) throw refuse('it is longer than 2048 characters')
  if (/[\p{Cc}\\]/u.test(text)) throw refuse('it has a backslash or a control character')
  const [base = '', fragment, ...more] = text.split('#')
  const [, part] = SUBDIRECTORY.exec(fragment ?? 'subdirectory=') ?? []
  if (part === undefined || more.length > 0) throw refuse('only "#subdirectory=PATH" can follow it')
  const subdirectory = part.replace(/\/+$/, '')
  if (!isInside(subdirectory)) throw refuse(`"${subdirectory}" is not a path in it`)
  if (base.startsWith('./')) {
    const path = base.replace(/^(?:\.\/+)+/, '').replace(/\/+$/, '')
    if (path === '' || !isInside(path)) throw refuse('it is not a directory in that of the resolver')
    return { kind: 'directory', path, subdirectory }
  }
  const [, repo, ref = null] = SHORT.exec(base) ?? []
  if (repo !== undefined) {
    if (ref !== null && !isRef(ref)) throw refuse(`"${ref}" is not a branch, tag or commit`)
    return { kind: 'git', repo, ref, subdirectory }
  }
  const fault = gitAddressFault(base)
  if (fault !== null) throw refuse(fault)
  const source = parseGitSource(base)
  return { kind: 'git', repo: source.url, ref: source.ref, subdirectory }
}

/** Why a manifest may not name this bundle, or null. */
export function bundleAddressFault(address: string): string | null {
  try {
    parseBundleAddress(address)
    return null
  } catch (error) {
    if (error instanceof ResolveError) return String(error.details['reason'] ?? error.message)
    throw error
  }
}

/** A path without an empty part, `.` or `..`; or none at all. */
function isInside(path: string): boolean {
  return path === '' || path.split('/').every((part) => !['', '.', '..'].includes(part))
}
