/** What a worker's container sees of this machine: the instance's project, the resolver's files, the SDK, and what an operator allowed. */
import { chmodSync, existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { fail } from '../../errors.ts'
import { installedFile } from '../../files/installation.ts'
import { CONFIG_FILE, MESSAGES_DIR } from '../../protocol/coordination.ts'
import { OPT, PROJECT, RESOLVE_DIRECTORY, SDK, SOURCE, workerUser } from '../engine/container-places.ts'
import type { ContainerMount } from './container-spec.ts'

/**
 * The project, with config.json and the messages read-only inside it: the host replaces them whole on its side, and a worker can't
 * change what it was told (threats WR-3).
 */
export function projectMounts(project: string): ContainerMount[] {
  const resolve = join(project, '.resolve')
  return [
    { source: project, target: PROJECT, readOnly: false },
    // A mount of its own, so that it can't be moved away.
    { source: resolve, target: RESOLVE_DIRECTORY, readOnly: false },
    { source: join(resolve, CONFIG_FILE), target: `${RESOLVE_DIRECTORY}/${CONFIG_FILE}`, readOnly: true },
    { source: join(resolve, MESSAGES_DIR), target: `${RESOLVE_DIRECTORY}/${MESSAGES_DIR}`, readOnly: true },
  ]
}

/**
 * The resolver's directory. What was fetched into the home is opened to the resolver's user, who may not enter the home itself.
 * Throws `launch_failed` where the directory is gone, or is a person's own and may not be read by others.
 */
export function sourceMount(home: string, directory: string, command: readonly string[]): ContainerMount {
  const refuse = (reason: string) => fail('launch_failed', { command: command.join(' '), reason })
  const stat = statSync(directory, { throwIfNoEntry: false })
  if (stat?.isDirectory() !== true) throw refuse('its directory is gone')
  const { uid } = workerUser()
  const isReadable = stat.uid === uid || (stat.mode & 0o005) === 0o005
  if (!isReadable && !directory.startsWith(join(home, 'resolvers', sep))) {
    throw refuse(`${directory} may not be read by others: chmod -R go+rX ${directory}`)
  }
  if (!isReadable) openToOthers(directory)
  return { source: realpathSync(directory), target: SOURCE, readOnly: true }
}

/** The directory itself last: while it is closed, this was not done to its end. */
function openToOthers(directory: string): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) openToOthers(path)
    else if (entry.isFile()) chmodSync(path, (statSync(path).mode & 0o100) === 0 ? 0o644 : 0o755)
  }
  chmodSync(directory, 0o755)
}

/** The built package, for `resolve-platform/sdk`; nothing where nothing is built. */
export function sdkMounts(): ContainerMount[] {
  const register = installedFile('sdk/register.js')
  return register === undefined ? [] : [{ source: dirname(dirname(register)), target: SDK, readOnly: true }]
}

/**
 * RESOLVE_DEV_SOURCES names a directory of this machine; `<it>/<name>` stands at `/opt/<name>` for each override the manifest lists.
 * What is not there is left to the image.
 */
export function devSourceMounts(names: readonly string[], env: NodeJS.ProcessEnv = process.env): ContainerMount[] {
  const sources = env['RESOLVE_DEV_SOURCES']
  if (!sources) return []
  return [...new Set(names)]
    .map((name) => ({ source: join(sources, name), target: `${OPT}/${name}`, readOnly: true }))
    .filter(({ source }) => existsSync(source))
    .map((mount) => ({ ...mount, source: realpathSync(mount.source) }))
}
