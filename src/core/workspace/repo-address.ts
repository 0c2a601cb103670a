/** The address of a repository that a resolver wants: which ones are allowed, and what git gets (threats B6). */
import { realpathSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import { type GitHosts, mayBePrivate } from '../git/git-hosts.ts'
import { REPO_URL_MAX_CHARS } from '../limits.ts'

export interface RepoAddress {
  /** For git: https://…, http://…, ssh://…, user@host:path or file:///… */
  url: string
  /** The part before the name, for a second repository with the same name. */
  owner: string
  /** The last part of the path, decoded, without `.git`. */
  name: string
}

/** Why an address is refused. The sentence begins with "it" or names a part of the address. */
export class AddressFault {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

const HOST = /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/
const SSH_USER = /^[A-Za-z0-9_][\w.-]*$/
const SHORT = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)+$/
const SCP_LIKE = /^([^/@\s]+)@([^/:\s]+):(?!\/\/)(.+)$/
const NAME = /^(?![.-])[\w.-]{1,100}$/
const ENDING = /\.(?:git|lock)$/i

/** Throws {@link AddressFault}. */
export function parseRepoAddress(text: string, hosts: GitHosts): RepoAddress {
  refuseWhere([
    [text === '', 'it is empty'],
    [text.length > REPO_URL_MAX_CHARS, `it is longer than ${REPO_URL_MAX_CHARS} characters`],
    [/[\p{C}\s\\]/u.test(text), 'it has a space, a backslash or a control character'],
    [text.startsWith('-'), 'it begins with "-"'],
    [/^[A-Za-z0-9]+::/.test(text), 'it would run a program'],
    [/^~[^/:]*(?:\/|$)/.test(text), 'the shell did not replace its "~"; write the whole path, for example with $HOME'],
  ])
  const [, scheme, rest = ''] = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/(.*)$/.exec(text) ?? []
  if (scheme !== undefined) return withScheme(scheme.toLowerCase(), rest, hosts)
  if (isAbsolute(text)) return localAddress(text, hosts)
  const [, user = '', host = '', path = ''] = SCP_LIKE.exec(text) ?? []
  if (host !== '') return sshAddress(user, host, path, `${user}@${host}:${path}`, hosts)
  if (SHORT.test(text)) return shortAddress(text, hosts)
  throw new AddressFault('it is neither https://host/path nor owner/repo')
}

function withScheme(scheme: string, rest: string, hosts: GitHosts): RepoAddress {
  if (scheme === 'file') {
    refuseWhere([[!rest.startsWith('/'), 'a file address has three slashes: file:///path']])
    return localAddress(decoded(rest), hosts)
  }
  const slash = rest.indexOf('/')
  refuseWhere([
    [!['https', 'http', 'ssh'].includes(scheme), `${scheme}:// is not supported`],
    [slash === -1, 'it names no repository'],
    [/[?#]/.test(rest), 'it has a query or a fragment'],
  ])
  const authority = rest.slice(0, slash)
  const path = rest.slice(slash + 1).replace(/\/+$/, '')
  if (scheme === 'ssh') {
    const at = authority.lastIndexOf('@')
    const host = authority.slice(at + 1)
    return sshAddress(at === -1 ? 'git' : authority.slice(0, at), host, path, `ssh://${authority}/${path}`, hosts)
  }
  refuseWhere([[authority.includes('@'), 'it has a user or a password; the platform knows the token of its git host']])
  const [, name = '', port] = /^([^:]*)(?::(.*))?$/.exec(authority) ?? []
  refuseWhere([
    [name === '', 'it names no host'],
    [!HOST.test(name), `"${name}" is not the name of a host`],
    [port !== undefined && !isPort(port), `"${port}" is not a port`],
  ])
  const host = (port === undefined || port === (scheme === 'https' ? '443' : '80') ? name : authority).toLowerCase()
  const isForge = `${scheme}://${host}` === hosts.forge.origin && hosts.forge.isOperators
  refuseWhere([
    [scheme === 'http' && !isForge, 'http:// can be changed in transit; use https://'],
    [
      isLocalName(name) && !mayBePrivate(hosts, host),
      `${name} is no public host; the operator can name it in RESOLVE_GIT_PRIVATE_HOSTS`,
    ],
  ])
  return checked(`${scheme}://${host}/${path}`, host, path, hosts)
}

function shortAddress(text: string, hosts: GitHosts): RepoAddress {
  const { origin, host, path, type } = hosts.forge
  refuseWhere([
    [
      origin === '',
      'it names no host; set RESOLVE_GIT_BASE_URL: RESOLVE_GIT_PROVIDER names no git host with a public server',
    ],
  ])
  // GitLab and Gitea answer without the ending by a redirect or not at all; Azure knows none.
  const ending = type === 'azure' || text.endsWith('.git') ? '' : '.git'
  return checked(`${origin}${path}/${text}${ending}`, host, `${path.slice(1)}${path === '' ? '' : '/'}${text}`, hosts)
}

function sshAddress(user: string, authority: string, path: string, url: string, hosts: GitHosts): RepoAddress {
  const [, host = '', port] = /^([^:]*)(?::(.*))?$/.exec(authority.toLowerCase()) ?? []
  refuseWhere([
    [!SSH_USER.test(user), 'its user is not a name'],
    [!HOST.test(host), `"${host}" is not the name of a host`],
    [port !== undefined && !isPort(port), `"${port}" is not a port`],
    [path.startsWith('-'), 'its path begins with "-"'],
    [/[?#]/.test(path), 'it has a query or a fragment'],
    [
      !hosts.sshHosts.includes(host),
      `ssh is allowed only for the hosts in RESOLVE_GIT_SSH_HOSTS, and ${host} is none of them`,
    ],
  ])
  return checked(url, host, path.replace(/^\/+/, ''), hosts)
}

function localAddress(path: string, hosts: GitHosts): RepoAddress {
  const real = realPath(path)
  const isBelow = (root: string) => {
    const way = relative(realPath(root) ?? '/nowhere', real ?? '/')
    return way !== '' && !way.startsWith('..') && !isAbsolute(way)
  }
  refuseWhere([
    [
      hosts.localRoots.length === 0,
      'a path is allowed only below the directories in RESOLVE_GIT_LOCAL, and there are none',
    ],
    [
      real === undefined && hosts.localRoots.some((root) => root.startsWith('~')),
      'the shell did not replace the "~" in RESOLVE_GIT_LOCAL',
    ],
    // Of other places it is not told whether they exist.
    [real === undefined && hosts.localRoots.some((root) => isNamedBelow(root, path)), 'it does not exist'],
    [real === undefined || !hosts.localRoots.some(isBelow), 'it is no directory below those in RESOLVE_GIT_LOCAL'],
  ])
  return checked(`file://${real}`, '', (real as string).slice(1), hosts)
}

/** By the text alone. A link on the way is followed, so that a missing path beyond it is not told. */
function isNamedBelow(root: string, path: string): boolean {
  if (!isInside(resolve(root), resolve(path))) return false
  let place = resolve(path)
  while (realPath(place) === undefined && place !== dirname(place)) place = dirname(place)
  const top = realPath(root)
  const real = realPath(place)
  return top !== undefined && real !== undefined && (real === top || isInside(top, real))
}

function isInside(root: string, place: string): boolean {
  const way = relative(root, place)
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way)
}

function checked(url: string, host: string, path: string, hosts: GitHosts): RepoAddress {
  const plain = decoded(path)
  const parts = plain.replace(/\/+$/, '').split('/')
  const name = (parts.at(-1) ?? '').replace(/\.git$/i, '')
  const place = `${host}/${plain.replace(/\.git$/i, '')}`
  refuseWhere([
    [parts.some((part) => part === '' || part === '.' || part === '..'), 'its path has an empty part, "." or ".."'],
    // A decoded "%2f" or "%00" would mean another path to the server than to this check.
    [/%(?:2f|5c|[01][0-9a-f]|7f)/i.test(path), 'its path has an encoded slash or control character'],
    [!NAME.test(name) || ENDING.test(name), `"${name.slice(0, 100)}" is no name of a repository`],
    [!isAllowed(place.replace(/^\//, ''), hosts), 'the operator allows only the repositories in RESOLVE_GIT_ALLOW'],
  ])
  return { url, owner: (parts.at(-2) ?? '').replace(/[^\w.-]/g, '-').replace(/^[.-]+/, ''), name }
}

function isAllowed(place: string, { allow }: GitHosts): boolean {
  if (allow === undefined) return true
  const toPattern = (text: string) =>
    new RegExp(`^${text.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`, 'i')
  return allow.some((pattern) => toPattern(pattern.replace(/^\//, '').replace(/\.git$/, '')).test(place))
}

function isPort(text: string): boolean {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535
}

/** Names and addresses that are no public host by their form alone. What a name leads to is checked when git connects. */
function isLocalName(name: string): boolean {
  const isNumeric = isIP(name) !== 0 || /^[\d.]+$|^0x/i.test(name)
  return isNumeric || !name.includes('.') || /\.(?:localhost|local|internal|localdomain)$/i.test(name)
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw new AddressFault('its path has a "%" that encodes nothing')
  }
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** Refuses for the first reason that holds. */
function refuseWhere(rules: readonly (readonly [holds: boolean, reason: string])[]): void {
  const found = rules.find(([holds]) => holds)
  if (found !== undefined) throw new AddressFault(found[1])
}
