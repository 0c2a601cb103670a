/**
 * Finds the forge of a repository: by the operator's provider, by a known host, or by what an unknown host answers to probes without a
 * token. Promotion calls it with the address that the workspace was cloned from.
 */
import { fail } from '../errors.ts'
import { type ForgeName, PUBLIC_HOSTS } from '../git/git-providers.ts'
import { isObject } from '../primitives/is-object.ts'
import type { ForgeRepo } from './forge.ts'
import type { ForgeHttp } from './forge-http.ts'
import { type GitSettings, hostOfToken } from './git-settings.ts'

/** Throws `forge_unknown`. */
export async function findForge(
  address: string,
  settings: GitSettings,
  http: ForgeHttp,
  signal?: AbortSignal,
): Promise<ForgeRepo> {
  const place = placeOf(address, settings.baseUrl)
  if (place === undefined) throw fail('forge_unknown', { host: cleanAddress(address) })
  const { host } = place
  const forge = knownForge(host) ?? providerFor(host, settings) ?? (await probe(place, settings, http, signal))
  const repo = forge === undefined ? undefined : repoOf(place, forge)
  if (repo === undefined) throw fail('forge_unknown', { host })
  return repo
}

/** Where a repository is, before its forge is known. */
export interface Place {
  host: string
  /** Of the forge: `https://host`, and the path below which it lives. */
  root: string
  /** Decoded, without `.git`. */
  segments: string[]
}

/** `https://host/path`, `ssh://user@host/path` or `user@host:path`; undefined for anything else. Pure. */
export function placeOf(address: string, baseUrl?: string): Place | undefined {
  const scp = /^[\w.-]{1,64}@([\w.-]{1,253}):(?!\/\/)(.{1,1000})$/.exec(address)
  const text = scp === null ? address : `ssh://${scp[1]}/${scp[2]}`
  if (text.length > 2_000 || !URL.canParse(text)) return undefined
  const url = new URL(text)
  if (!/^(?:https?|ssh):$/.test(url.protocol) || url.hostname === '') return undefined
  // The port of ssh says nothing about the pages.
  const isSsh = url.protocol === 'ssh:'
  const host = isSsh ? (sshHosts[url.hostname] ?? url.hostname) : url.host
  const ownHost = baseUrl === undefined ? undefined : new URL(baseUrl)[isSsh ? 'hostname' : 'host']
  const base = ownHost === host ? baseUrl : undefined
  const root = base ?? (isSsh ? `https://${host}` : url.origin)
  const prefix = new URL(root).pathname.replace(/\/$/, '')
  const path = !isSsh && url.pathname.startsWith(`${prefix}/`) ? url.pathname.slice(prefix.length) : url.pathname
  const segments = decoded(path.split('/').filter((part) => part !== ''))
  if (segments === undefined || segments.length === 0) return undefined
  const last = segments.pop()?.replace(/\.git$/, '') ?? ''
  if (last === '' || [...segments, last].some((part) => part === '.' || part === '..')) return undefined
  return { host: new URL(root).host, root, segments: [...segments, last] }
}

/** The host of the pages, where the one for ssh has another name. */
const sshHosts: Readonly<Record<string, string>> = {
  'ssh.dev.azure.com': 'dev.azure.com',
  'altssh.bitbucket.org': 'bitbucket.org',
  'ssh.github.com': 'github.com',
  'altssh.gitlab.com': 'gitlab.com',
}

function decoded(parts: string[]): string[] | undefined {
  try {
    const texts = parts.map((part) => decodeURIComponent(part))
    return texts.every((text) => /^[^\p{C}/\\]{1,255}$/u.test(text)) ? texts : undefined
  } catch {
    return undefined
  }
}

function knownForge(host: string): ForgeName | undefined {
  if (Object.hasOwn(PUBLIC_HOSTS, host)) return PUBLIC_HOSTS[host]
  if (host.endsWith('.visualstudio.com')) return 'azure'
  return host.endsWith('.ghe.com') ? 'github' : undefined
}

/** The provider counts for the host that gets the token; without a base address, for every host that is not known. */
function providerFor(host: string, settings: GitSettings): ForgeName | undefined {
  return settings.baseUrl === undefined || hostOfToken(settings) === host ? settings.provider : undefined
}

/** The repository at a place; undefined where the path is not one of this forge. Pure. */
export function repoOf({ host, root, segments }: Place, forge: ForgeName): ForgeRepo | undefined {
  const shown = [host, ...segments].join('/')
  if (forge === 'azure') return azureRepo({ host, root, segments }, shown)
  if (forge === 'bitbucket_server') {
    // The address to clone has `scm` before project and name.
    const [project, name, ...rest] = segments[0] === 'scm' ? segments.slice(1) : segments
    if (project === undefined || name === undefined || rest.length > 0) return undefined
    const pages = project.startsWith('~')
      ? `users/${encodeURIComponent(project.slice(1))}`
      : `projects/${encodeURIComponent(project)}`
    return {
      ...{ forge, shown, host, owner: project, name },
      api: `${root}/rest/api/1.0`,
      web: `${root}/${pages}/repos/${encodeURIComponent(name)}`,
      git: `${root}/scm/${encodeURIComponent(project)}/${encodeURIComponent(name)}.git`,
    }
  }
  const owners = segments.slice(0, -1)
  const name = segments.at(-1) ?? ''
  if (owners.length === 0 || (owners.length > 1 && forge !== 'gitlab')) return undefined
  const web = `${root}/${segments.map(encodeURIComponent).join('/')}`
  return {
    ...{ forge, shown, host, web, name },
    owner: owners.join('/'),
    api: apiOf(forge, host, root),
    git: `${web}.git`,
  }
}

function apiOf(forge: ForgeName, host: string, root: string): string {
  if (forge === 'github') {
    if (host === 'github.com') return 'https://api.github.com'
    return host.endsWith('.ghe.com') ? `https://api.${host}` : `${root}/api/v3`
  }
  if (forge === 'bitbucket') return host === 'bitbucket.org' ? 'https://api.bitbucket.org/2.0' : `${root}/2.0`
  return forge === 'gitlab' ? `${root}/api/v4` : `${root}/api/v1`
}

/** `/org/project/_git/name`, `/org/_git/name` where both have one name, and `v3/org/project/name` of ssh. */
function azureRepo({ host, root, segments }: Place, shown: string): ForgeRepo | undefined {
  const at = segments.indexOf('_git')
  const isSsh = segments[0] === 'v3' && segments.length === 4
  const before = isSsh ? segments.slice(1, 3) : segments.slice(0, Math.max(0, at))
  const name = isSsh ? segments[3] : segments[at + 1]
  if (name === undefined || (!isSsh && (at < 1 || segments.length !== at + 2))) return undefined
  const isShort = before.length === 1 && !host.endsWith('.visualstudio.com')
  const path = isShort ? [...before, name] : before
  const api = `${root}/${path.map(encodeURIComponent).join('/')}`
  const web = `${api}/_git/${encodeURIComponent(name)}`
  return { forge: 'azure', shown, host, api, web, git: web, owner: path.join('/'), name }
}

/** Only the operator's own host is probed: the name of any other came from a resolver or a consumer. */
async function probe(
  { host, root }: Place,
  settings: GitSettings,
  http: ForgeHttp,
  signal: AbortSignal | undefined,
): Promise<ForgeName | undefined> {
  if (hostOfToken(settings) !== host) return undefined
  for (const { forge, path, is } of PROBES) {
    const answer = await http.probe(`${root}${path}`, signal)
    if (answer !== undefined && is(answer.body, answer.headers, answer.status)) return forge
  }
  return undefined
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

const PROBES: readonly {
  forge: ForgeName
  path: string
  is: (body: unknown, headers: Headers, status: number) => boolean
}[] = [
  { forge: 'gitea', path: '/api/v1/version', is: (body, _, status) => status === 200 && has(body, 'version') },
  {
    forge: 'gitlab',
    path: '/api/v4/version',
    // It wants a token and says so in its own words.
    is: (body, headers, status) =>
      (status === 401 || status === 200) &&
      ('x-gitlab-meta' in headers ||
        (has(body, 'message') && /^401 /.test(String((body as { message: unknown }).message)))),
  },
  {
    forge: 'bitbucket_server',
    path: '/rest/api/1.0/application-properties',
    is: (body, _, status) => status === 200 && has(body, 'buildNumber'),
  },
  {
    forge: 'github',
    path: '/api/v3/meta',
    is: (_, headers) => 'x-github-request-id' in headers || 'x-github-enterprise-version' in headers,
  },
]

function has(body: unknown, name: string): boolean {
  return isObject(body) && name in body
}

/** For a message: without a user or a password. */
function cleanAddress(address: string): string {
  return address
    .replace(/\/\/[^/@]*@/, '//')
    .replace(/[?#].*$/, '')
    .slice(0, 200)
}
