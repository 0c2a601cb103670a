/** A resolver's manifest.json (spec, Resolver manifest). */
import type { Network } from './egress.ts'

export interface ContainerManifest {
  /** The image of its workers; the platform's default when none is named. */
  image?: string
  command?: string[]
  setup_commands?: string[]
  bundles?: string[]
  volume_mounts?: unknown[]
  dev_source_overrides?: string[]
  /** What its workers may reach; `open` by default. */
  network?: Network
  /** The hosts, with `network: "allowlist"`. */
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
