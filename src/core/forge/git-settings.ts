/** The operator's settings for upstream git hosts, from the environment of the host process (R45, R55). Pure. */
import { fail } from '../errors.ts'
import { gitHosts } from '../git/git-hosts.ts'
import { type ForgeName, providerNamed, publicHostOf } from '../git/git-providers.ts'

export interface GitSettings {
  /** Undefined where it follows from the host. */
  provider: ForgeName | undefined
  /** Without a slash at its end. */
  baseUrl: string | undefined
  token: string | undefined
  tokenCommand: string | undefined
}

/** Throws `forge_unknown` for a provider or a base address that can't be used. */
export function gitSettings(env: NodeJS.ProcessEnv = process.env): GitSettings {
  return {
    provider: providerOf(env['RESOLVE_GIT_PROVIDER']),
    baseUrl: baseOf(env),
    token: env['RESOLVE_GIT_HOST_TOKEN']?.trim() || undefined,
    tokenCommand: env['RESOLVE_GIT_TOKEN_COMMAND']?.trim() || undefined,
  }
}

/** The one host that may get the token, as `host` or `host:port`; undefined where the settings name none. */
export function hostOfToken({ provider, baseUrl }: GitSettings): string | undefined {
  if (baseUrl !== undefined) return new URL(baseUrl).host
  return publicHostOf(provider ?? 'github')
}

function providerOf(text: string | undefined): ForgeName | undefined {
  const provider = providerNamed(text)
  if (provider === undefined) throw fail('forge_unknown', { host: `RESOLVE_GIT_PROVIDER=${text?.trim().slice(0, 40)}` })
  return provider ?? undefined
}

function baseOf(env: NodeJS.ProcessEnv): string | undefined {
  const address = env['RESOLVE_GIT_BASE_URL']?.trim() ?? ''
  if (address === '') return undefined
  const url = URL.canParse(address) ? new URL(address) : undefined
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === ''
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw fail('forge_unknown', { host: 'RESOLVE_GIT_BASE_URL, which is not an address with http or https' })
  }
  const { forge } = gitHosts({ RESOLVE_GIT_BASE_URL: address })
  return forge.isOperators ? `${forge.origin}${forge.path}` : forge.origin
}
