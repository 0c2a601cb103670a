/** A resolver's manifest.json (spec, Resolver manifest). */
import type { Network } from './egress.ts'

export interface ContainerManifest {
  /** The image its workers start from; the platform's own where none is named. */
  image?: string
  command?: string[]
  setup_commands?: string[]
  bundles?: string[]
  volume_mounts?: unknown[]
  dev_source_overrides?: string[]
  /** What its worker may reach; `open` by default. */
  network?: Network
  /** Which hosts, with `network: "allowlist"`. */
  egress?: string[]
}

export interface Manifest {
  name: string
  version: string
  description: string
  command: string[]
  supports_resume?: boolean
  capabilities_required?: string[]
  viewport_bundle?: string
  viewport_path?: string
  container?: ContainerManifest
}
