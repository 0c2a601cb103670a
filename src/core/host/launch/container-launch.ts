/**
 * Merges a manifest's container with what container_setup added, and turns the result into launch options and setup steps
 * (spec, container; R44).
 */
import { parseGitSource } from '../../catalog/manifest/source.ts'
import { fail } from '../../errors.ts'
import { quoteWord } from '../../primitives/quote-word.ts'
import type { ContainerOptions, CreationRecord } from '../../protocol/journal.ts'
import type { Manifest } from '../../protocol/manifest.ts'
import { refuseEnvironment } from '../../worker/docker/container-environment.ts'
import type { ContainerLaunch, SetupStep } from '../../worker/worker.ts'

/** Stored in the journal, so that a resumed instance gets the same container. */
export function containerOptions(manifest: Manifest, spec: Record<string, unknown> | null): ContainerOptions {
  const asked = manifest.container ?? {}
  const setup = spec?.['container_setup']
  const added = (typeof setup === 'object' && setup !== null ? setup : {}) as Record<string, unknown>
  const { name } = manifest
  return {
    image: asked.image ?? null,
    command: asked.command ?? manifest.command,
    setup_commands: asked.setup_commands ?? [],
    added_setup_commands: texts(name, added, 'setup_commands'),
    bundles: [...new Set([...(asked.bundles ?? []), ...texts(name, added, 'bundles')])],
    volume_mounts: [...(asked.volume_mounts ?? []), ...list(name, added, 'volume_mounts')],
    dev_source_overrides: asked.dev_source_overrides ?? [],
  }
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

/** The launch options for the driver. Throws `source_invalid` for a bundle that is not a git address. */
export function containerLaunch(
  options: ContainerOptions,
  resolver: Pick<CreationRecord['resolver'], 'commit'>,
): ContainerLaunch {
  const bundles = options.bundles.map((bundle) => bundleAt(bundle, options.dev_source_overrides))
  return {
    image: options.image,
    stages: [
      [...bundles.flatMap(({ step }) => step ?? []), ...options.setup_commands.map(toStep)],
      options.added_setup_commands.map(toStep),
    ],
    bundles: bundles.map(({ path }) => path),
    volume_mounts: options.volume_mounts,
    dev_source_overrides: options.dev_source_overrides,
    commit: resolver.commit,
  }
}

function toStep(command: string): SetupStep {
  return { description: command, command }
}

/**
 * The path of a bundle and the step that fetches it; no step where the developer's own directory replaces it
 * (dev_source_overrides).
 */
function bundleAt(bundle: string, overrides: readonly string[]): { path: string; step?: SetupStep } {
  const { url, ref } = parseGitSource(bundle)
  const name = /([\w.-]+?)(\.git)?\/?$/.exec(url)?.[1] ?? 'bundle'
  if (overrides.includes(name)) return { path: `/opt/${name}` }
  const path = `/opt/bundles/${name}`
  const branch = ref === null ? '' : `--branch ${quoteWord(ref)} `
  const command = `git -c core.hooksPath=/dev/null clone --quiet --depth 1 --no-recurse-submodules ${branch}-- ${quoteWord(url)} ${quoteWord(path)}`
  return { path, step: { description: `Fetch the bundle ${name}`, command } }
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
