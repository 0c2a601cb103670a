/** An entry of the catalog, as `resolvers.json` holds it and every door shows it. */
import type { Manifest } from './manifest.ts'

export type SourceKind = 'builtin' | 'directory' | 'git'

export interface CatalogEntry {
  name: string
  version: string
  description: string
  supports_resume: boolean
  kind: SourceKind
  /** What was given to `resolver add`: a path or an address; "builtin" for ours; empty for a path on a server's machine. */
  source: string
  /** The commit that was fetched (R5); null where there is none. */
  commit: string | null
  /** The branch, tag or commit that was asked for; null for the default branch and where there is none. */
  ref: string | null
  /** Where the resolver's files are on this machine; its commands run there. Empty for a server's machine. */
  dir: string
  manifest: Manifest
  /** The commit of viewport_bundle that was fetched; absent where there is none. */
  viewport_commit?: string
  /** ISO-8601 UTC. */
  added_at: string
}
