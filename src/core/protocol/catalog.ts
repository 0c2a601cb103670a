/** An entry of the catalog, as `resolvers.json` and every API give it. */

import {
  anything,
  flag,
  listOf,
  named,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  text,
  time,
} from '../schema/schema.ts'
import { type Manifest, manifest, RESOLVER_NAME_PATTERN, VERSION_PATTERN } from './manifest.ts'

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

/**
 * Whether a client sent the files (R74). Its kind is `directory`, because clients refuse a kind that they do not know; a path and an address
 * begin in another way.
 */
export function isUpload({ source }: Pick<Resolver, 'source'>): boolean {
  return source?.startsWith('upload:') === true
}

export interface CatalogEntry extends Omit<Resolver, 'source' | 'dir'> {
  /**
   * The argument of `resolver add`: a path or an address; "builtin" for a built-in resolver; `upload:` and its digest for one that a
   * client sent; empty for a path on a server's machine.
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

/** What `resolver add` would do (docs/cli.md). */
export const addPlan = named(
  'AddPlan',
  object({
    name: text(),
    version: text(),
    description: text(),
    kind: oneOf(SOURCE_KINDS),
    source: text(),
    ref: nullable(text()),
    commit: nullable(commit()),
    manifest,
    command: listOf(text()),
    container: nullable(
      object({
        command: listOf(text()),
        setup_commands: listOf(text()),
        bundles: listOf(text()),
        volume_mounts: listOf(anything()),
      }),
    ),
    capabilities: listOf(text()),
    viewport_bundle: nullable(text()),
    warnings: listOf(text()),
    replaces: nullable(resolver),
    needs_force: flag({ description: 'A resolver of this name has another source: adding needs force' }),
  }),
)

/** The answer to an archive. */
export const addition = object({
  plan: addPlan,
  resolver: nullable(resolver, { description: 'The entry that was added; null after a dry run' }),
})
