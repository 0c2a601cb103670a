/** What the LLM sessions of an instance used, for records, documents and people. Pure. */
import type { BudgetRequest, InstanceRecord } from '../protocol/instance.ts'
import type { SessionKind } from '../protocol/session/session.ts'
import type { Story } from './story.ts'

export type Spending = Required<
  Pick<InstanceRecord, 'usage' | 'cost_usd' | 'session_kinds' | 'budget_usd' | 'budget_tokens'>
>

export function spendingOf({ creation, spending }: Story): Spending {
  return {
    usage: spending?.usage ?? null,
    cost_usd: spending?.cost_usd ?? null,
    session_kinds: spending?.kinds ?? [],
    budget_usd: creation.budget_usd ?? null,
    budget_tokens: creation.budget_tokens ?? null,
  }
}

/** `5 US dollars, 200000 tokens`; undefined without a budget. */
export function budgetText({ budget_usd: usd, budget_tokens: tokens }: BudgetRequest): string | undefined {
  const bounds = [
    ...(usd === undefined ? [] : [`${usd} US dollars`]),
    ...(tokens === undefined ? [] : [`${tokens} tokens`]),
  ]
  return bounds.length === 0 ? undefined : bounds.join(', ')
}

/** `1234 tokens, $0.0210 of $5.00`; undefined where there was no session. What was not live is said in words. */
export function spendingText(story: Story): string | undefined {
  const { usage, cost_usd, session_kinds, budget_usd, budget_tokens } = spendingOf(story)
  const budget = budget_usd === null ? '' : ` of a budget of ${dollars(budget_usd)}`
  if (usage === null) return undefined
  const ofTokens = budget_tokens === null ? '' : ` of a budget of ${budget_tokens}`
  const tokens = `${usage.input_tokens + usage.output_tokens} tokens${ofTokens}`
  const isFree = session_kinds.every((kind) => kind !== 'live')
  const known = cost_usd === null ? ', at a price that is not known' : `, about ${dollars(cost_usd)}${budget}`
  const cost = isFree ? '' : known
  return [`${tokens}${cost}`, ...session_kinds.flatMap((kind) => KIND_WORDS[kind] ?? [])].join('; ')
}

/** A run of which a part was not live must not look like one that was. */
const KIND_WORDS: Partial<Record<SessionKind, string>> = {
  scripted: 'scripted model: answers written in advance, tools ran for real',
  replayed: 'replayed model: answers of an earlier run, tools ran for real',
}

/** Two digits of what is less than a cent. */
export function dollars(usd: number): string {
  if (usd === 0 || usd >= 0.01) return `$${usd.toFixed(2)}`
  return `$${usd.toPrecision(2)}`
}
