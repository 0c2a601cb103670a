/** An entry of the catalog, as `resolvers.json` and every API give it. */
import { type Manifest, manifest, RESOLVER_NAME_PATTERN, VERSION_PATTERN } from './manifest.ts'
import { flag, named, nullable, object, oneOf, optional, type Static, text, time } from './schema.ts'

export const SOURCE_KINDS = ['builtin', 'directory', 'git'] as const

export type SourceKind = (typeof SOURCE_KINDS)[number]

/** How a commit is shown: the whole digest, or its beginning. */
const commit = () => text({ pattern: '^[0-9a-f]{4,64}$' })

/** A resolver as consumers see it. */
export type Resolver = Static<typeof resolver>

export const resolver = named(
  'Resolver',
  object({
    name: text({ pattern: RESOLVER_NAME_PATTERN }),
    version: text({ pattern: VERSION_PATTERN }),
    description: text(),
    supports_resume: flag(),
    kind: oneOf(SOURCE_KINDS),
    source: nullable(text(), { description: 'Null for a directory of the server' }),
    commit: nullable(commit()),
    ref: nullable(text()),
    dir: nullable(text(), { description: 'Null for callers other than the owner' }),
    manifest,
    viewport_commit: optional(commit()),
    added_at: time(),
  }),
  'A resolver of the catalog. Where it lies on the server is shown to the owner of the server alone.',
)

export interface CatalogEntry extends Omit<Resolver, 'source' | 'dir'> {
  /**
   * The argument of `resolver add`: a path or an address; "builtin" for a built-in resolver; empty for a path on a server's
   * machine.
   */
  source: string
  /** The commit that was fetched (R5); null where there is none. */
  commit: string | null
  /** The branch, tag or commit that was requested; null for the default branch and for sources without git. */
  ref: string | null
  /** The resolver's directory on this machine, where its commands run. Empty when the catalog is a server's. */
  dir: string
  manifest: Manifest
  /** The commit of viewport_bundle that was fetched; absent where there is none. */
  viewport_commit?: string
}
