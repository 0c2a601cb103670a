/** A resolver's manifest.json (spec, Resolver manifest). */

import { listOf, object, type Schema, text } from '../schema/schema.ts'
import type { Network } from './egress.ts'

/** Lower-case words joined by hyphens: a name goes to terminals and into paths as it is (R4). */
export const RESOLVER_NAME_PATTERN = '^[a-z0-9]+(-[a-z0-9]+)*$'

const NUMBER = '(0|[1-9]\\d*)'
const PRERELEASE_PART = '(0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)'

const BUILD_PART = '[0-9A-Za-z-]+'

/** MAJOR.MINOR.PATCH, with a prerelease and build metadata (R51). */
export const VERSION_PATTERN = `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(-${PRERELEASE_PART}(\\.${PRERELEASE_PART})*)?(\\+${BUILD_PART}(\\.${BUILD_PART})*)?$`

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
  /** How many of its instances may have a worker at the same time. */
  max_running?: number
  capabilities_required?: string[]
  /** It asked for the git server under the name `gitea`: its workers also get the variables of a Gitea. The platform sets it. */
  gitea?: true
  /** R55: the operator's secrets that its workers get, by name. */
  secrets?: string[]
  viewport_bundle?: string
  viewport_path?: string
  container?: ContainerManifest
}

/** As it travels with a resolver: `core/catalog/manifest` decides what is well formed, before it is registered. */
export const manifest = object({ command: listOf(text()) }) as Schema<unknown> as Schema<Manifest>

/** The name is a key of `credentials`, and often that of an environment variable elsewhere. */
export const SECRET_NAME_PATTERN = '^[A-Za-z][A-Za-z0-9_]{0,63}$'

/** The keys of `credentials` that the platform fills itself, and those with a meaning in JavaScript. */
export const SECRET_NAMES_TAKEN = ['llm_provider_api_key', 'git_host_token', 'constructor', 'prototype']

const NAME = new RegExp(SECRET_NAME_PATTERN)

export function isSecretName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value) && !SECRET_NAMES_TAKEN.includes(value)
}
