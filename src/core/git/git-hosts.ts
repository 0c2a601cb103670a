/** What the operator says about git hosts, from the environment of the host (docs/git.md). Pure. */

export interface GitHosts {
  /** The configured forge: where `owner/repo` is, and the only server that gets the operator's token. */
  forge: {
    /** RESOLVE_GIT_PROVIDER in lower case; empty where it is not set. */
    type: string
    /** `https://github.com`, or `http://…` where RESOLVE_GIT_BASE_URL says so. */
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

const OWN_ORIGINS: Readonly<Record<string, string>> = {
  github: 'https://github.com',
  gitlab: 'https://gitlab.com',
  bitbucket: 'https://bitbucket.org',
  azure: 'https://dev.azure.com',
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
    forge: forgeOf((env['RESOLVE_GIT_PROVIDER'] ?? '').toLowerCase(), env['RESOLVE_GIT_BASE_URL'] ?? ''),
    privateHosts: listIn(env['RESOLVE_GIT_PRIVATE_HOSTS']).map((host) => host.toLowerCase()),
    sshHosts: listIn(env['RESOLVE_GIT_SSH_HOSTS']).map((host) => host.toLowerCase()),
    localRoots: listIn(env['RESOLVE_GIT_LOCAL']),
    allow: env['RESOLVE_GIT_ALLOW'] ? listIn(env['RESOLVE_GIT_ALLOW']) : undefined,
  }
}

function forgeOf(type: string, base: string): GitHosts['forge'] {
  if (!/^https?:\/\//i.test(base) || !URL.canParse(base)) {
    const origin = OWN_ORIGINS[type] ?? 'https://github.com'
    return { type, origin, host: new URL(origin).host, path: '', isOperators: false }
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
