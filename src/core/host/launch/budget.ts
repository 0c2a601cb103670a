/** Decides the budget of an instance: what its creator asks for, within what the operator allows. Creations call it. */
import { fail } from '../../errors.ts'
import { BUDGET_TOKENS_MAX, BUDGET_USD_MAX, BUDGET_USD_MIN } from '../../limits.ts'
import { type BudgetRequest, budgetIn } from '../../protocol/instance.ts'

/** What is absent has no bound. Throws `budget_too_high`, and `usage` where RESOLVE_BUDGET_USD or RESOLVE_BUDGET_TOKENS is no amount. */
export function budgetFrom(wanted: BudgetRequest, env: NodeJS.ProcessEnv = process.env): BudgetRequest {
  return budgetIn({
    budget_usd: bounded(USD, wanted.budget_usd, env['RESOLVE_BUDGET_USD']),
    budget_tokens: bounded(TOKENS, wanted.budget_tokens, env['RESOLVE_BUDGET_TOKENS']),
  })
}

interface Bound {
  field: string
  variable: string
  unit: string
  example: string
  isAmount: (value: number) => boolean
}

const USD: Bound = {
  field: 'budget_usd',
  variable: 'RESOLVE_BUDGET_USD',
  unit: 'US dollars',
  example: '5 or 0.50',
  isAmount: (value) => Number.isFinite(value) && value >= BUDGET_USD_MIN && value <= BUDGET_USD_MAX,
}

const TOKENS: Bound = {
  field: 'budget_tokens',
  variable: 'RESOLVE_BUDGET_TOKENS',
  unit: 'tokens',
  example: '200000',
  isAmount: (value) => Number.isSafeInteger(value) && value >= 1 && value <= BUDGET_TOKENS_MAX,
}

function bounded(bound: Bound, wanted: number | undefined, most = ''): number | undefined {
  const { field, variable, unit, example, isAmount } = bound
  const text = most.trim()
  const ceiling = text === '' ? undefined : Number(text)
  if (ceiling !== undefined && !isAmount(ceiling))
    throw fail('usage', { problem: `${variable} must be an amount of ${unit}, such as ${example}.` })
  if (wanted === undefined) return ceiling
  // The command line of this machine comes here without passing the schema of the API.
  if (!isAmount(wanted)) throw fail('request_invalid', { problem: `${field} must be a positive amount of ${unit}` })
  if (ceiling !== undefined && wanted > ceiling)
    throw fail('budget_too_high', { budget: wanted, ceiling, unit, variable })
  return wanted
}
