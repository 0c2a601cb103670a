/** What a worker's container sees of this machine: the instance's project, the resolver's files, the SDK, and what an operator allowed. */
import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fail } from '../errors.ts'
import { installedFile } from '../files/installation.ts'
import { CONFIG_FILE, MESSAGES_DIR } from '../protocol/coordination.ts'
import { OPT, PROJECT, RESOLVE_DIRECTORY, SDK, SOURCE, workerUser } from './container-places.ts'
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

/** The resolver's directory. Throws `launch_failed` where it is gone or the resolver's user could not read it. */
export function sourceMount(directory: string, command: readonly string[]): ContainerMount {
  const refuse = (reason: string) => fail('launch_failed', { command: command.join(' '), reason })
  const stat = statSync(directory, { throwIfNoEntry: false })
  if (stat?.isDirectory() !== true) throw refuse('its directory is gone')
  const { uid } = workerUser()
  const isReadable = stat.uid === uid || (stat.mode & 0o005) === 0o005
  if (!isReadable) throw refuse(`${directory} may not be read by others: chmod -R go+rX`)
  return { source: realpathSync(directory), target: SOURCE, readOnly: true }
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
