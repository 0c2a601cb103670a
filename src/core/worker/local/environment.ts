/** The environment of a local resolver process: an allow-list of variables, never the host's whole environment (R45). */
import { delimiter, dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { installedFile } from '../../files/installation.ts'
import type { BundleDirectory } from '../worker.ts'

const ALLOWED = /^(HOME|LANG|LC_[A-Z]+|TZ|TMPDIR|SystemRoot)$/

export interface EnvironmentOptions {
  /** `.resolve` as the worker sees it; undefined for an inquiry. */
  resolveDirectory?: string
  /** Where Node keeps the compiled code of the resolver, so that its next start neither strips types nor compiles. */
  compileCache?: string | undefined
  /** The variables that container_setup adds. */
  added?: Readonly<Record<string, string>>
  /** Searched first for programs. */
  tools?: string | undefined
  bundles?: readonly BundleDirectory[] | undefined
  host?: NodeJS.ProcessEnv
}

/**
 * PATH starts with the directory of this Node, so that `command: ["node", "resolver.ts"]` runs with it. NODE_OPTIONS makes
 * `resolve-platform/sdk` importable from a folder without node_modules.
 */
export function workerEnvironment(options: EnvironmentOptions = {}): Record<string, string> {
  const host = options.host ?? process.env
  const environment: Record<string, string> = { ...options.added }
  // Reading a variable of this process is a system call's worth, so only those are read that are passed on.
  for (const name of Object.keys(host)) {
    const value = ALLOWED.test(name) ? host[name] : undefined
    if (value !== undefined) environment[name] = value
  }
  environment['PATH'] = [options.tools ?? '', dirname(process.execPath), host['PATH'] ?? '']
    .filter(Boolean)
    .join(delimiter)
  environment['RESOLVE_CHANNEL'] = '1'
  const register = installedFile('sdk/register.js')
  if (register !== undefined) environment['NODE_OPTIONS'] = `--import=${pathToFileURL(register).href}`
  if (options.compileCache !== undefined) environment['RESOLVE_COMPILE_CACHE'] = options.compileCache
  const bundles = (options.bundles ?? []).filter(({ isListed }) => isListed)
  if (bundles.length > 0) environment['RESOLVE_BUNDLES'] = bundles.map(({ seen }) => seen).join(':')
  if (options.resolveDirectory !== undefined) environment['RESOLVE_DIR'] = options.resolveDirectory
  return environment
}
