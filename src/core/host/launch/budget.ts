/** Decides the budget of an instance: what its creator asks for, within what the operator allows. Creations call it. */
import { fail } from '../../errors.ts'
import { BUDGET_USD_MAX, BUDGET_USD_MIN } from '../../limits.ts'

/** In US dollars; undefined for no budget. Throws `budget_too_high`, and `usage` where RESOLVE_BUDGET_USD is no amount. */
export function budgetFrom(
  wanted: number | null | undefined,
  env: NodeJS.ProcessEnv = process.env,
): number | undefined {
  const text = env['RESOLVE_BUDGET_USD']?.trim() ?? ''
  const ceiling = text === '' ? undefined : Number(text)
  if (ceiling !== undefined && !isBudget(ceiling))
    throw fail('usage', { problem: `RESOLVE_BUDGET_USD must be an amount of US dollars, such as 5 or 0.50.` })
  if (wanted == null) return ceiling
  // The command line of this machine comes here without passing the schema of the API.
  if (!isBudget(wanted))
    throw fail('request_invalid', { problem: 'budget_usd must be a positive amount of US dollars' })
  if (ceiling !== undefined && wanted > ceiling) throw fail('budget_too_high', { budget: wanted, ceiling })
  return wanted
}

function isBudget(value: number): boolean {
  return Number.isFinite(value) && value >= BUDGET_USD_MIN && value <= BUDGET_USD_MAX
}
