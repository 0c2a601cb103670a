/** Formats tokens for the token commands, as a sentence and as a document; never contains the token's text or digest. */
import type { TokenEntry, Tokens } from '../../core/index.ts'
import { cleanLine } from '../../core/view/clean.ts'
import type { Output } from '../output/output.ts'

export function tokenDocument({ id, name, scope, instance, created_at, expires_at }: TokenEntry) {
  return { id, name, scope, instance, created_at, expires_at }
}

/** `Token 1f9a03cc (ada, scope run, until 2026-12-21 09:30 UTC)`. */
export function tokenWords({ id, name, scope, instance, expires_at }: TokenEntry): string {
  const parts = [cleanLine(name), `scope ${scope}`]
  if (instance !== null) parts.push(`instance ${instance}`)
  if (expires_at !== null) parts.push(`until ${minuteText(expires_at)}`)
  return `Token ${id} (${parts.join(', ')})`
}

/** `2026-12-21 09:30 UTC`. */
export function minuteText(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`
}

/** Warns on stderr if other users could read the token file. */
export function warnOfTokens(output: Output, tokens: Tokens): void {
  const warning = tokens.warning()
  if (warning !== null) output.say(output.paint('yellow', warning))
}
