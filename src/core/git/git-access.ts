/**
 * The way of git to one server: which transport, which credential, and a proxy that connects only to public addresses (threats B6).
 * fetch-source.ts and the workspaces open it, and close it after use.
 */
import type { EgressProxy } from '../worker/egress/egress-proxy.ts'
import { hasOwnProxy } from './git-environment.ts'
import { type GitHosts, mayBePrivate } from './git-hosts.ts'
import { credentialOf, gitUserOf, PUBLIC_HOSTS } from './git-providers.ts'
import type { GitCredentials, GitRun } from './run-git.ts'

export interface GitAccess {
  /** Goes into each {@link GitRun} that talks to the server. */
  options: Pick<GitRun, 'protocols' | 'credentials' | 'proxy'>
  /** Why the proxy let nothing through, as a sentence; undefined where it refused nothing. */
  denial(): string | undefined
  close(): Promise<void>
}

const HTTP = /^(https?):\/\/([^/@]+)\//i

/** Whether the operator's token opens this address. */
export function isOnForge(url: string, { forge }: GitHosts): boolean {
  const [, scheme = '', authority = ''] = HTTP.exec(url) ?? []
  return forge.origin !== '' && `${scheme}://${authority}`.toLowerCase() === forge.origin
}

/** The token is used only where the address is on the configured forge. */
export async function openGitAccess(url: string, hosts: GitHosts, token = ''): Promise<GitAccess> {
  const [, scheme = '', authority = ''] = HTTP.exec(url) ?? []
  const host = authority.toLowerCase()
  if (scheme === '') return plainAccess(url.startsWith('file:') ? 'file' : 'https:ssh')
  const credentials = credentialsFor(`${scheme.toLowerCase()}://${host}`, hosts, token)
  if (scheme.toLowerCase() === 'http') return plainAccess('http', credentials)
  if (mayBePrivate(hosts, host) || hasOwnProxy()) return plainAccess('https', credentials)
  return await proxiedAccess(host, credentials)
}

function plainAccess(protocols: string, credentials?: GitCredentials): GitAccess {
  return { options: { protocols, credentials }, denial: () => undefined, close: async () => {} }
}

async function proxiedAccess(host: string, credentials: GitCredentials | undefined): Promise<GitAccess> {
  const { openEgressProxy } = await import('../worker/egress/egress-proxy.ts')
  let isDenied = false
  const onDenied = () => {
    isDenied = true
  }
  const rules = [/:\d+$/.test(host) ? host : `${host}:443`]
  const proxy: EgressProxy = await openEgressProxy({ rules, address: '127.0.0.1', port: 0, onDenied })
  const name = host.replace(/:\d+$/, '')
  return {
    options: { protocols: 'https', credentials, proxy: `http://127.0.0.1:${proxy.port}` },
    denial: () =>
      isDenied ? `${name} has no public address; the operator can name it in RESOLVE_GIT_PRIVATE_HOSTS.` : undefined,
    close: () => proxy.close(),
  }
}

function credentialsFor(origin: string, { forge }: GitHosts, token: string): GitCredentials | undefined {
  if (token === '' || origin !== forge.origin) return undefined
  const provider = forge.type ?? PUBLIC_HOSTS[forge.host] ?? 'github'
  const credential = credentialOf(provider, token)
  return { origin, username: gitUserOf(provider, credential), password: credential.secret }
}
