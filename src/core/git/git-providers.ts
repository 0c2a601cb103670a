/**
 * The kinds of git hosts: how RESOLVE_GIT_PROVIDER spells them, their public servers, and the user that git gives beside a token. Clones and
 * promotions use the same tables. Pure.
 */

/** `gitea` is Forgejo too; `bitbucket` is Bitbucket Cloud. */
export const FORGE_NAMES = ['github', 'gitlab', 'gitea', 'bitbucket', 'bitbucket_server', 'azure'] as const
export type ForgeName = (typeof FORGE_NAMES)[number]

/** The public hosts by name. Gitea has several, so none of them is its own. */
export const PUBLIC_HOSTS: Readonly<Record<string, ForgeName>> = {
  'github.com': 'github',
  'gitlab.com': 'gitlab',
  'codeberg.org': 'gitea',
  'gitea.com': 'gitea',
  'bitbucket.org': 'bitbucket',
  'dev.azure.com': 'azure',
}

/** The public host of a provider: it gets the token where no base address is set. Undefined where the operator has to name a host. */
export function publicHostOf(provider: ForgeName): string | undefined {
  const hosts = Object.keys(PUBLIC_HOSTS).filter((host) => PUBLIC_HOSTS[host] === provider)
  return hosts.length === 1 ? hosts[0] : undefined
}

const SPELLINGS: Readonly<Record<string, ForgeName>> = {
  github: 'github',
  github_enterprise: 'github',
  gitlab: 'gitlab',
  gitea: 'gitea',
  forgejo: 'gitea',
  codeberg: 'gitea',
  bitbucket: 'bitbucket',
  bitbucket_cloud: 'bitbucket',
  bitbucket_server: 'bitbucket_server',
  bitbucket_data_center: 'bitbucket_server',
  bitbucket_datacenter: 'bitbucket_server',
  azure: 'azure',
  azure_devops: 'azure',
}

/** Of RESOLVE_GIT_PROVIDER: null where it is not set, undefined where it names no provider. */
export function providerNamed(text: string | undefined): ForgeName | null | undefined {
  const word = text?.trim().toLowerCase().replaceAll('-', '_') ?? ''
  if (word === '') return null
  return Object.hasOwn(SPELLINGS, word) ? SPELLINGS[word] : undefined
}

/** What opens a git host: a token, with a user name where the host asks for one. */
export interface Credential {
  user?: string | undefined
  secret: string
}

/** Bitbucket's tokens come as `user:token` where they belong to a person. */
export function credentialOf(provider: ForgeName, text: string): Credential {
  const at = provider === 'bitbucket' ? text.indexOf(':') : -1
  return at < 1 ? { secret: text } : { user: text.slice(0, at), secret: text.slice(at + 1) }
}

/** Most servers take any name. */
const USERS: Readonly<Partial<Record<ForgeName, string>>> = {
  gitlab: 'oauth2',
  bitbucket: 'x-token-auth',
  bitbucket_server: 'x-token-auth',
}

/** The user with which git gets in. */
export function gitUserOf(provider: ForgeName, { user }: Credential): string {
  if (user === undefined) return USERS[provider] ?? 'x-access-token'
  // An API token of Atlassian comes with an e-mail address; an app password with a user name.
  return provider === 'bitbucket' && user.includes('@') ? 'x-bitbucket-api-token-auth' : user
}
