/** An entry of the catalog, as `resolvers.json` and every API give it. */
import type { Manifest } from './manifest.ts'

export type SourceKind = 'builtin' | 'directory' | 'git'

export interface CatalogEntry {
  name: string
  version: string
  description: string
  supports_resume: boolean
  kind: SourceKind
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
  /** ISO-8601 UTC. */
  added_at: string
}
