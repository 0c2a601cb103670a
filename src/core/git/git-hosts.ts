/** What the operator says about git hosts, from the environment of the host (docs/git.md). Pure. */

import { type ForgeName, providerNamed, publicHostOf } from './git-providers.ts'

export interface GitHosts {
  /** The configured forge: where `owner/repo` is, and the only server that gets the operator's token. */
  forge: {
    /** Undefined where RESOLVE_GIT_PROVIDER is not set, or names none. */
    type: ForgeName | undefined
    /** `https://github.com`, or `http://…` where RESOLVE_GIT_BASE_URL says so; empty where the settings name no host: then no server gets the token. */
    origin: string
    /** Host and port in lower case. */
    host: string
    /** The path before every repository, without a slash at its end. */
    path: string
    /** From RESOLVE_GIT_BASE_URL: such a host may have a private address and speak http. */
    isOperators: boolean
  }
  /** RESOLVE_GIT_PRIVATE_HOSTS: further hosts that may have a private address. */
  privateHosts: readonly string[]
  /** RESOLVE_GIT_SSH_HOSTS: hosts that workspaces may use over ssh, with the key of the operator. */
  sshHosts: readonly string[]
  /** RESOLVE_GIT_LOCAL: directories whose repositories workspaces may use. */
  localRoots: readonly string[]
  /** RESOLVE_GIT_ALLOW: patterns `host/path` with `*`; undefined for no limit. */
  allow: readonly string[] | undefined
}

/** API hosts of the large forges, and where their repositories are. */
const API_HOSTS: Readonly<Record<string, string>> = {
  'api.github.com': 'https://github.com',
  'api.bitbucket.org': 'https://bitbucket.org',
}
/** RESOLVE_GIT_BASE_URL may be the address of the API. */
const API_PATH = /\/(api(\/v\d+)?|rest\/api\/[\d.]+|2\.0)$/

export function gitHosts(env: NodeJS.ProcessEnv = process.env): GitHosts {
  return {
    forge: forgeOf(env['RESOLVE_GIT_PROVIDER'], env['RESOLVE_GIT_BASE_URL'] ?? ''),
    privateHosts: listIn(env['RESOLVE_GIT_PRIVATE_HOSTS']).map((host) => host.toLowerCase()),
    sshHosts: listIn(env['RESOLVE_GIT_SSH_HOSTS']).map((host) => host.toLowerCase()),
    localRoots: listIn(env['RESOLVE_GIT_LOCAL']),
    allow: env['RESOLVE_GIT_ALLOW'] ? listIn(env['RESOLVE_GIT_ALLOW']) : undefined,
  }
}

function forgeOf(provider: string | undefined, base: string): GitHosts['forge'] {
  const named = providerNamed(provider)
  const type = named ?? undefined
  if (!/^https?:\/\//i.test(base) || !URL.canParse(base)) {
    const host = named === undefined ? '' : (publicHostOf(named ?? 'github') ?? '')
    return { type, origin: host === '' ? '' : `https://${host}`, host, path: '', isOperators: false }
  }
  const url = new URL(base)
  const known = API_HOSTS[url.host]
  if (known !== undefined) return { type, origin: known, host: new URL(known).host, path: '', isOperators: false }
  const path = url.pathname.replace(/\/+$/, '').replace(API_PATH, '')
  return { type, origin: url.origin, host: url.host, path, isOperators: true }
}

function listIn(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** Whether the operator named this host (`host` or `host:port`), so that it may have a private address. */
export function mayBePrivate({ forge, privateHosts }: GitHosts, host: string): boolean {
  const name = host.replace(/:\d+$/, '')
  const isForge = forge.isOperators && (forge.host === host || forge.host.replace(/:\d+$/, '') === name)
  return isForge || privateHosts.includes(host) || privateHosts.includes(name)
}
