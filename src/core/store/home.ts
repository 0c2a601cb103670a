/**
 * The home directory: its path, its layout, and the paths of each instance (docs/on-disk.md; R2, R3). Everything that reads or
 * writes the home starts here.
 */
import { randomBytes } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fail, systemCode } from '../errors.ts'
import { INSTANCE_ID_CHARS, INSTANCE_PREFIX_MIN_CHARS } from '../limits.ts'
import { INSTANCE_ID_PATTERN } from '../protocol/instance.ts'

/** R2: `$RESOLVE_HOME`, else `$XDG_DATA_HOME/resolve`, else `~/.local/share/resolve`. */
export function homeDirectory(env: NodeJS.ProcessEnv = process.env): string {
  // Absolute, because a background host has another working directory.
  return resolve(chooseHome(env))
}

function chooseHome(env: NodeJS.ProcessEnv): string {
  if (env['RESOLVE_HOME']) return env['RESOLVE_HOME']
  if (env['XDG_DATA_HOME']) return join(env['XDG_DATA_HOME'], 'resolve')
  return join(env['HOME'] || homedir(), '.local', 'share', 'resolve')
}

/** Creates the home and its folders where they are missing, mode 0700. Throws `home_unusable`. */
export function prepareHome(home: string): void {
  try {
    for (const path of [home, instancesDirectory(home), join(home, 'resolvers')]) {
      makeDirectories(path)
    }
    accessSync(instancesDirectory(home), constants.W_OK | constants.X_OK)
  } catch (error) {
    throw fail('home_unusable', { path: home, reason: reasonOf(error) }, { cause: error })
  }
}

/** Like a recursive mkdir, which never returns on a file system that refuses to create a missing name (/proc). */
function makeDirectories(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    const code = systemCode(error)
    if (code === 'EEXIST' && statSync(path).isDirectory()) return
    if (code !== 'ENOENT' || existsSync(dirname(path))) throw error
    makeDirectories(dirname(path))
    mkdirSync(path, { mode: 0o700 })
  }
}

function reasonOf(error: unknown): string {
  switch (systemCode(error)) {
    case 'EACCES':
    case 'EPERM':
      return 'it may not be written'
    case 'EROFS':
      return 'its file system is read-only'
    case 'ENOSPC':
      return 'no space is left there'
    case 'ENOENT':
      return 'no directory can be made there'
    case 'ENOTDIR':
    case 'EEXIST':
      return 'a part of its path is not a directory'
    default:
      return error instanceof Error ? error.message : String(error)
  }
}

export function instancesDirectory(home: string): string {
  return join(home, 'instances')
}

/** Where Node keeps the compiled code of resolvers that run as processes of this machine; it may be deleted at any time. */
export function compileCacheDirectory(home: string): string {
  return join(home, 'compiled')
}

export function newInstanceId(): string {
  return randomBytes(INSTANCE_ID_CHARS / 2).toString('hex')
}

const INSTANCE_ID = new RegExp(INSTANCE_ID_PATTERN)

export function isInstanceId(value: unknown): value is string {
  return typeof value === 'string' && INSTANCE_ID.test(value)
}

/** Every instance id in the home, in any order. */
export function instanceIds(home: string): string[] {
  try {
    return readdirSync(instancesDirectory(home)).filter(isInstanceId)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw fail('home_unusable', { path: home, reason: reasonOf(error) }, { cause: error })
  }
}

/**
 * R3: resolves a whole id, a unique prefix of 4 or more characters, or `@last`. Throws `instance_unknown` or
 * `instance_ambiguous`.
 */
export function findInstance(home: string, reference: string): string {
  if (reference === '@last') return newestInstance(home)
  if (!/^[0-9a-f]+$/.test(reference)) throw fail('instance_unknown', { id: reference })
  if (reference.length < INSTANCE_PREFIX_MIN_CHARS) {
    throw fail('instance_unknown', { id: reference, needed: INSTANCE_PREFIX_MIN_CHARS })
  }
  const matches = instanceIds(home).filter((id) => id.startsWith(reference))
  const [first] = matches
  if (first === undefined) throw fail('instance_unknown', { id: reference })
  if (matches.length > 1) throw fail('instance_ambiguous', { id: reference, matches })
  return first
}

function newestInstance(home: string): string {
  let newest: { id: string; at: number } | undefined
  for (const id of instanceIds(home)) {
    const at = statSync(join(instancesDirectory(home), id), { throwIfNoEntry: false })?.birthtimeMs ?? 0
    if (newest === undefined || at > newest.at) newest = { id, at }
  }
  if (newest === undefined) throw fail('instance_unknown', { id: '@last' })
  return newest.id
}

/** The paths in one instance's directory. */
export interface InstancePaths {
  root: string
  journal: string
  record: string
  owners: string
  /** A stop that no host has accepted yet. */
  keptStop: string
  worker: string
  stdin: string
  stdout: string
  stderr: string
  lifeline: string
  /** What the worker printed and logged; `log.1` beside it has the lines before. */
  log: string
  project: string
  /** The host's own bare repository of each clone is `<repo>.git` in it: what was pushed is in `refs/heads/*`, and no worker writes there. */
  git: string
}

export function instancePaths(home: string, id: string): InstancePaths {
  return pathsIn(join(instancesDirectory(home), id))
}

/** Lists call it for each of thousands of instances, and joining a dozen names would take most of their time. */
export function pathsIn(directory: string): InstancePaths {
  const root = join(directory)
  return {
    root,
    journal: `${root}/journal`,
    record: `${root}/record.json`,
    owners: `${root}/owners`,
    keptStop: `${root}/owners/stop.json`,
    worker: `${root}/worker.json`,
    stdin: `${root}/stdin`,
    stdout: `${root}/stdout`,
    stderr: `${root}/stderr`,
    lifeline: `${root}/lifeline`,
    log: `${root}/log`,
    project: `${root}/project`,
    git: `${root}/git`,
  }
}
