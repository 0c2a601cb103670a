/**
 * Decides which directories of this machine a container may mount: only those that an operator lists, and some never (threats
 * MAN-1).
 */
import { lstatSync, realpathSync, statSync } from 'node:fs'
import { isAbsolute, normalize, posix } from 'node:path'
import { fail, systemCode } from '../../errors.ts'
import { isObject } from '../../primitives/is-object.ts'
import type { ContainerMount } from './container-spec.ts'

export interface VolumePolicy {
  /** The directories that the operator allows, as real paths. */
  allowed: readonly { path: string; mayWrite: boolean }[]
  /** Always refused, even when listed: these paths, everything below and everything above them. */
  denied: readonly string[]
  /** Refused themselves and everything above, but not what is below. */
  deniedRoots: readonly string[]
  /** Engine sockets, recognised by inode and not only by name. */
  sockets: readonly string[]
}

/** RESOLVE_VOLUME_ALLOW is `/path:/other=rw`; read-only without `=rw`. */
export function volumePolicy(home: string, socket: string, env: NodeJS.ProcessEnv = process.env): VolumePolicy {
  const allowed = (env['RESOLVE_VOLUME_ALLOW'] ?? '')
    .split(':')
    .map((entry) => /^(.*?)(=rw|=ro)?$/.exec(entry.trim()))
    .flatMap((match) => {
      const path = realPath(match?.[1] ?? '')
      return path === undefined ? [] : [{ path, mayWrite: match?.[2] === '=rw' }]
    })
  const real = (paths: (string | undefined)[]) =>
    paths.flatMap((path) => (path === undefined || path === '' ? [] : [path, realPath(path) ?? path]))
  return {
    allowed,
    denied: real(['/proc', '/sys', '/dev', '/run', '/var/run', '/boot', '/var/lib/docker', home, socket]),
    deniedRoots: real(['/', env['HOME'], '/root', '/home', '/etc']),
    sockets: [socket, '/var/run/docker.sock'],
  }
}

/**
 * The mounts of `container.volume_mounts` and container_setup. Throws `mount_refused`. The engine resolves each source again
 * when it mounts it. A container that may write to a directory could replace an entry of it by a link in between, so below a
 * writable directory nothing is mounted on its own.
 */
export function volumeMounts(wanted: readonly unknown[], policy: VolumePolicy): ContainerMount[] {
  const mounts: ContainerMount[] = []
  for (const value of wanted) {
    const mount = parseMount(value)
    const refuse = (reason: string): never => {
      throw fail('mount_refused', { mount: shown(value), reason })
    }
    if (mount === undefined) return refuse('it must be "source:target[:ro|rw]" or {source, target, read_only}')
    const targetFault = faultOfTarget(mount.target)
    if (targetFault !== undefined) return refuse(targetFault)
    if (mounts.some(({ target }) => target === mount.target)) return refuse(`${mount.target} is taken`)
    const source = realPath(mount.source)
    if (source === undefined) return refuse(`${mount.source} is not an existing absolute path`)
    const sourceFault = faultOfSource(source, policy)
    if (sourceFault !== undefined) return refuse(sourceFault)
    const rule = policy.allowed.find(({ path }) => isWithin(source, path))
    if (rule === undefined) return refuse(`the operator does not allow ${source} (${allowing(source, mount.readOnly)})`)
    const writable = policy.allowed.find(({ path, mayWrite }) => mayWrite && path !== source && isWithin(source, path))
    if (writable !== undefined) {
      return refuse(`containers may write to ${writable.path}, so it is mounted as a whole and nothing below it`)
    }
    if (!mount.readOnly && !rule.mayWrite)
      return refuse(`${source} is allowed read-only (${allowing(rule.path, false)})`)
    mounts.push({ ...mount, source })
  }
  return mounts
}

/** The message is all that a failed instance keeps of the error, so it names the variable. */
function allowing(path: string, readOnly: boolean): string {
  return `RESOLVE_VOLUME_ALLOW=${path}${readOnly ? '' : '=rw'} would allow it`
}

function parseMount(value: unknown): ContainerMount | undefined {
  if (typeof value === 'string') {
    const [source, target, mode, ...rest] = value.split(':')
    const isWhole = source !== undefined && target !== undefined && rest.length === 0
    if (!isWhole || (mode !== undefined && mode !== 'ro' && mode !== 'rw')) return undefined
    return { source, target, readOnly: mode !== 'rw' }
  }
  if (!isObject(value)) return undefined
  const { source, target, read_only: readOnly = true, ...rest } = value as Record<string, unknown>
  const isValid = typeof source === 'string' && typeof target === 'string' && typeof readOnly === 'boolean'
  // An unsupported field is refused, not ignored (threats MAN-4).
  return isValid && Object.keys(rest).length === 0 ? { source, target, readOnly } : undefined
}

/** Targets that the platform or the kernel uses in every container. */
const TAKEN_TARGETS = [
  '/project',
  '/resolver',
  '/usr/local/lib/resolve',
  '/proc',
  '/sys',
  '/dev',
  '/etc',
  '/usr/local/bin',
]

function faultOfTarget(target: string): string | undefined {
  const isPlain = /^\/[^\0:]*[^/\0:]$/.test(target) && posix.normalize(target) === target
  if (!isPlain) return 'its target must be a plain absolute path'
  const taken = TAKEN_TARGETS.find((path) => isWithin(target, path) || isWithin(path, target))
  return taken === undefined ? undefined : `${taken} inside the container is reserved`
}

function faultOfSource(source: string, policy: VolumePolicy): string | undefined {
  const stat = statSync(source)
  if (!stat.isDirectory() && !stat.isFile()) return `${source} is neither a directory nor a file`
  for (const denied of policy.denied) {
    if (isWithin(source, denied) || isWithin(denied, source)) return `${denied} may not be mounted`
  }
  for (const denied of policy.deniedRoots) if (isWithin(denied, source)) return `${denied} may not be mounted`
  for (const socket of policy.sockets) {
    const other = statOf(socket)
    if (other !== undefined && other.dev === stat.dev && other.ino === stat.ino) return `it is ${socket}`
  }
  return undefined
}

function isWithin(path: string, parent: string): boolean {
  return path === parent || path.startsWith(parent === '/' ? '/' : `${parent}/`)
}

function realPath(path: string): string | undefined {
  if (!isAbsolute(path) || path.includes('\0')) return undefined
  try {
    return realpathSync(normalize(path))
  } catch (error) {
    if (systemCode(error) === undefined) throw error
    return undefined
  }
}

function statOf(path: string) {
  return lstatSync(path, { throwIfNoEntry: false }) ?? undefined
}

function shown(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 200) ?? String(value)
}
