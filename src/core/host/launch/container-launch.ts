/**
 * Merges a manifest's container with what container_setup added, and turns the result into launch options and setup steps
 * (spec, container; R44).
 */
import { fail } from '../../errors.ts'
import type { ContainerOptions, CreationRecord } from '../../protocol/journal.ts'
import type { Manifest } from '../../protocol/manifest.ts'
import { refuseEnvironment } from '../../worker/docker/container-environment.ts'
import type { ContainerLaunch, SetupStep } from '../../worker/worker.ts'

/** Stored in the journal, so that a resumed instance gets the same container. */
export function containerOptions(manifest: Manifest, spec: Record<string, unknown> | null): ContainerOptions {
  const asked = manifest.container ?? {}
  const added = setupOf(spec)
  const { name } = manifest
  return {
    image: asked.image ?? null,
    command: asked.command ?? manifest.command,
    setup_commands: asked.setup_commands ?? [],
    added_setup_commands: texts(name, added, 'setup_commands'),
    bundles: bundlesOf(manifest, spec),
    volume_mounts: [...(asked.volume_mounts ?? []), ...list(name, added, 'volume_mounts')],
    dev_source_overrides: asked.dev_source_overrides ?? [],
  }
}

function setupOf(spec: Record<string, unknown> | null): Record<string, unknown> {
  const setup = spec?.['container_setup']
  return (typeof setup === 'object' && setup !== null ? setup : {}) as Record<string, unknown>
}

/** The bundles of the sessions: those of the manifest, and what container_setup added. */
export function bundlesOf(manifest: Manifest, spec: Record<string, unknown> | null): string[] {
  return [...new Set([...(manifest.container?.bundles ?? []), ...texts(manifest.name, setupOf(spec), 'bundles')])]
}

/** Throws `environment_refused` before a launch that the driver would refuse. */
export function refuseForContainer(resolver: string, environment: Readonly<Record<string, string>>): void {
  refuseEnvironment(resolver, environment)
}

/** The environment that container_setup adds: only names and values that are strings (R44). */
export function environmentOf(spec: Record<string, unknown> | null): Record<string, string> {
  const setup = spec?.['container_setup']
  const wanted =
    typeof setup === 'object' && setup !== null ? (setup as Record<string, unknown>)['environment'] : undefined
  if (typeof wanted !== 'object' || wanted === null) return {}
  const isSound = ([name, value]: [string, unknown]) =>
    /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && typeof value === 'string'
  return Object.fromEntries(Object.entries(wanted).filter(isSound)) as Record<string, string>
}

/** The launch options for the driver. */
export function containerLaunch(
  options: ContainerOptions,
  resolver: Pick<CreationRecord['resolver'], 'commit'>,
): ContainerLaunch {
  return {
    image: options.image,
    stages: [options.setup_commands.map(toStep), options.added_setup_commands.map(toStep)],
    volume_mounts: options.volume_mounts,
    dev_source_overrides: options.dev_source_overrides,
    commit: resolver.commit,
  }
}

function toStep(command: string): SetupStep {
  return { description: command, command }
}

const SHELL_LINE_MAX_CHARS = 4_096
const ENTRIES_MAX = 256

function list(resolver: string, from: Record<string, unknown>, field: string): unknown[] {
  const value = from[field] ?? []
  if (Array.isArray(value) && value.length <= ENTRIES_MAX) return value
  throw fail('setup_malformed', { resolver, field })
}

function texts(resolver: string, from: Record<string, unknown>, field: string): string[] {
  const values = list(resolver, from, field)
  const isText = (value: unknown) =>
    typeof value === 'string' && value !== '' && value.length <= SHELL_LINE_MAX_CHARS && !value.includes('\0')
  if (values.every(isText)) return values as string[]
  throw fail('setup_malformed', { resolver, field })
}
