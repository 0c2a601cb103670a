/** What a step cost, as an estimate: the price list is part of the program, and asks no server. */
import { calcPrice } from '@pydantic/genai-prices'
import type { SessionUsage } from '../../core/protocol/session/session.ts'
import type { Provider } from './wish.ts'

/** null where the list does not know the model. */
export function priceOf(usage: SessionUsage, provider: Provider, model: string): number | null {
  const providerId = provider === 'openai-compatible' ? undefined : provider
  try {
    const found = calcPrice(usage, model, providerId === undefined ? {} : { providerId })
    return found === null || found === undefined ? null : found.total_price
  } catch {
    // Counts that contradict each other have no price.
    return null
  }
}
