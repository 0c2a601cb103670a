/** Opens the model of a session: its client, how it is called, and what it costs. Each provider is loaded when it is first used. */
import type { LanguageModel, streamText } from 'ai'
import { fail } from '../../core/errors.ts'
import { SESSION_WINDOW_TOKENS } from '../../core/limits.ts'
import type { SessionKind, SessionUsage } from '../../core/protocol/session/session.ts'
import { boundedCalls } from './bounded-calls.ts'
import { priceOf, windowOf } from './price.ts'
import { type Place, recordedModel } from './recorded.ts'
import { scriptedModel } from './script.ts'
import { type Provider, readBaseUrl, readWish, type Wish } from './wish.ts'

type ProviderOptions = NonNullable<Parameters<typeof streamText>[0]['providerOptions']>
type Reasoning = NonNullable<Parameters<typeof streamText>[0]['reasoning']>

export interface Model {
  /** `provider/model`. */
  readonly id: string
  readonly kind: SessionKind
  readonly language: LanguageModel
  readonly options: ProviderOptions
  /** Absent: as the provider has it. */
  readonly reasoning?: Reasoning
  /** How many tokens a request and its answer may have, as far as it is known. */
  readonly window: number
  /** A result of a tool may hold images, as far as its protocol goes. */
  readonly takesImages: boolean
  /** null where it is not known. */
  price(usage: SessionUsage): number | null
}

export interface ModelWish {
  /** The options of the session, or the config of the instance. */
  model: string
  reasoning?: Reasoning | undefined
  apiKey: string
  baseUrl: string
  /** The name and id of the session: a script has turns for names. */
  name: string
  session: string
  nextStep: () => number
  /** A recording has answers for prompts. */
  here: () => Place
}

/** Throws `sessions_missing` without a key, and `session_model_unknown`. */
export async function openModel(asked: ModelWish): Promise<Model> {
  const { session, apiKey, baseUrl } = asked
  const wish = readWish(asked.model, apiKey, baseUrl)
  if (apiKey === '' && !('provider' in wish && WITHOUT_KEY.includes(wish.provider)))
    throw fail('sessions_missing', { session })
  if ('problem' in wish) throw fail('session_model_unknown', { session, problem: wish.problem })
  const id = `${wish.provider}/${wish.model}`
  if (wish.provider === 'scripted') {
    const language = scriptedModel(wish.model, asked.name, session, asked.nextStep) as unknown as LanguageModel
    // What was written in advance does not read its history: it is never made shorter.
    return {
      id,
      kind: 'scripted',
      language,
      options: {},
      window: Number.MAX_SAFE_INTEGER,
      takesImages: false,
      price: () => null,
    }
  }
  if (wish.provider === 'recorded') {
    const language = recordedModel(wish.model, session, asked.here) as unknown as LanguageModel
    return {
      id,
      kind: 'replayed',
      language,
      options: {},
      window: Number.MAX_SAFE_INTEGER,
      takesImages: false,
      price: () => null,
    }
  }
  return {
    id,
    kind: 'live',
    language: boundedCalls(await clientOf(wish, apiKey, baseUrl)),
    options: OPTIONS[wish.provider] ?? {},
    ...(asked.reasoning === undefined ? {} : { reasoning: asked.reasoning }),
    window: windowOf(wish.provider, wish.model) ?? SESSION_WINDOW_TOKENS,
    takesImages: wish.provider !== 'openai-compatible',
    price: (usage) => priceOf(usage, wish.provider, wish.model),
  }
}

const WITHOUT_KEY: readonly Provider[] = ['scripted', 'recorded']

/** Anthropic caches what is marked. OpenAI would keep every answer; then it needs its encrypted reasoning in the request. */
const OPTIONS: Partial<Record<Provider, ProviderOptions>> = {
  anthropic: { anthropic: { cacheControl: { type: 'ephemeral' } } },
  openai: { openai: { store: false } },
}

async function clientOf(
  { provider, model }: Wish,
  apiKey: string,
  baseUrl: string,
): Promise<Parameters<typeof boundedCalls>[0]> {
  const { url, headers } = readBaseUrl(baseUrl, provider)
  const common = {
    apiKey,
    ...(url === undefined ? {} : { baseURL: url }),
    ...(headers === undefined ? {} : { headers }),
  }
  switch (provider) {
    case 'anthropic':
      return (await import('@ai-sdk/anthropic')).createAnthropic(common)(model)
    case 'google':
      return (await import('@ai-sdk/google')).createGoogle(common)(model)
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const baseURL = url ?? 'https://api.openai.com/v1'
      return createOpenAICompatible({ name: 'openai-compatible', includeUsage: true, ...common, baseURL })(model)
    }
    default:
      return (await import('@ai-sdk/openai')).createOpenAI(common)(model)
  }
}
