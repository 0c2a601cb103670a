/**
 * The mounts of a worker's container: the instance's project, the resolver's files, the SDK, and directories that an operator
 * allowed.
 */
import { chmodSync, existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { fail } from '../../errors.ts'
import { installedFile } from '../../files/installation.ts'
import { CONFIG_FILE, MESSAGES_DIR } from '../../protocol/coordination.ts'
import { OPT, PROJECT, RESOLVE_DIRECTORY, SDK, SOURCE, workerUser } from '../engine/container-places.ts'
import type { BundleDirectory } from '../worker.ts'
import type { ContainerMount } from './container-spec.ts'

/**
 * The project. config.json and the messages are read-only inside it, so a worker cannot change its own input; the host replaces
 * these files from outside (threats WR-3).
 */
export function projectMounts(project: string): ContainerMount[] {
  const resolve = join(project, '.resolve')
  return [
    { source: project, target: PROJECT, readOnly: false },
    // A mount of its own, because a mount point cannot be moved away.
    { source: resolve, target: RESOLVE_DIRECTORY, readOnly: false },
    { source: join(resolve, CONFIG_FILE), target: `${RESOLVE_DIRECTORY}/${CONFIG_FILE}`, readOnly: true },
    { source: join(resolve, MESSAGES_DIR), target: `${RESOLVE_DIRECTORY}/${MESSAGES_DIR}`, readOnly: true },
  ]
}

/**
 * The resolver's directory. A source fetched into the home is made readable for the resolver's user, who cannot enter the home
 * itself. Throws `launch_failed` where the directory is missing, or is a user's own folder that others may not read.
 */
export function sourceMount(home: string, directory: string, command: readonly string[]): ContainerMount {
  const refuse = (reason: string) => fail('launch_failed', { command: command.join(' '), reason })
  const stat = statSync(directory, { throwIfNoEntry: false })
  if (stat?.isDirectory() !== true) throw refuse('its directory is gone')
  const { uid } = workerUser()
  const isReadable = stat.uid === uid || (stat.mode & 0o005) === 0o005
  const isOurs = ['resolvers', 'uploads'].some((fetched) => directory.startsWith(join(home, fetched, sep)))
  if (!isReadable && !isOurs) {
    throw refuse(`${directory} may not be read by others: chmod -R go+rX ${directory}`)
  }
  if (!isReadable) openToOthers(directory)
  return { source: realpathSync(directory), target: SOURCE, readOnly: true }
}

/** The directory itself comes last: as long as it is closed, this step is not complete. */
function openToOthers(directory: string): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) openToOthers(path)
    else if (entry.isFile()) chmodSync(path, (statSync(path).mode & 0o100) === 0 ? 0o644 : 0o755)
  }
  chmodSync(directory, 0o755)
}

/** The built package, for `resolve-platform/sdk`; empty where there is no build. */
export function sdkMounts(): ContainerMount[] {
  const register = installedFile('sdk/register.js')
  return register === undefined ? [] : [{ source: dirname(dirname(register)), target: SDK, readOnly: true }]
}

/** The bundles of its sessions, which the host made readable when it fetched them. */
export function bundleMounts(bundles: readonly BundleDirectory[]): ContainerMount[] {
  return bundles.flatMap(({ source, seen }) => (source === null ? [] : [{ source, target: seen, readOnly: true }]))
}

/** The programs of a directory, each at its own place: the directory in the container has others. */
export function toolMounts(directory: string | undefined): ContainerMount[] {
  if (directory === undefined) return []
  return readdirSync(directory).map((name) => ({
    source: join(directory, name),
    target: `/usr/local/bin/${name}`,
    readOnly: true,
  }))
}

/**
 * RESOLVE_DEV_SOURCES names a directory of this machine. For each override in the manifest, `<directory>/<name>` is mounted at
 * `/opt/<name>`; a missing one is left to the image.
 */
export function devSourceMounts(names: readonly string[], env: NodeJS.ProcessEnv = process.env): ContainerMount[] {
  const sources = env['RESOLVE_DEV_SOURCES']
  if (!sources) return []
  return [...new Set(names)]
    .map((name) => ({ source: join(sources, name), target: `${OPT}/${name}`, readOnly: true }))
    .filter(({ source }) => existsSync(source))
    .map((mount) => ({ ...mount, source: realpathSync(mount.source) }))
}
