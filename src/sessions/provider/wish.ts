/** Which provider and model an operator or author means: pure. */

export const PROVIDERS = ['anthropic', 'openai', 'openai-compatible', 'google', 'scripted', 'recorded'] as const

export type Provider = (typeof PROVIDERS)[number]

export interface Wish {
  provider: Provider
  /** As the provider calls it; of a scripted or recorded model, the path of its file. */
  model: string
}

/**
 * `provider/model`, or a model whose provider follows from the key or the address. `problem` where it names none. A model may have slashes in
 * its name, so only a known provider is taken off.
 */
export function readWish(model: string, apiKey: string, baseUrl: string): Wish | { problem: string } {
  const wanted = model.trim()
  if (wanted === '') return { problem: 'no model is named' }
  const slash = wanted.indexOf('/')
  const provider = PROVIDERS.find((one) => one === wanted.slice(0, slash))
  const name = provider === undefined ? wanted : wanted.slice(slash + 1)
  if (name === '') return { problem: `"${wanted}" names no model` }
  if (provider !== undefined) return { provider, model: name }
  if (slash > 0 && baseUrl !== '') return { provider: 'openai-compatible', model: name }
  if (slash > 0)
    return { problem: `"${wanted.slice(0, slash)}" is no known provider, and no RESOLVE_LLM_BASE_URL is set` }
  return { provider: providerOf(apiKey, baseUrl), model: name }
}

function providerOf(apiKey: string, baseUrl: string): Provider {
  if (apiKey.startsWith('sk-ant-')) return 'anthropic'
  if (apiKey.startsWith('AIza')) return 'google'
  return baseUrl === '' ? 'openai' : 'openai-compatible'
}

/** An address without a path gets the one of the provider's API; user and password become a header. */
export function readBaseUrl(baseUrl: string, provider: Provider): { url?: string; headers?: Record<string, string> } {
  if (baseUrl === '' || !URL.canParse(baseUrl)) return {}
  const url = new URL(baseUrl)
  const { username, password } = url
  url.username = ''
  url.password = ''
  if (url.pathname === '/') url.pathname = provider === 'google' ? '/v1beta' : '/v1'
  const text = url.href.replace(/\/$/, '')
  if (username === '') return { url: text }
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { url: text, headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } }
}
