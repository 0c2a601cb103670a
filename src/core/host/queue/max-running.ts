/** Reads the bound of a host from its environment or a flag (R70); commands, background hosts and `serve` call it. */
import { fail } from '../../errors.ts'
import { MAX_RUNNING_MAX } from '../../limits.ts'

/** The flag, else RESOLVE_MAX_RUNNING; undefined for any number.. Throws `usage`. */
export function maxRunningFrom(env: NodeJS.ProcessEnv, flag?: string): number | undefined {
  const text = flag ?? env['RESOLVE_MAX_RUNNING']?.trim() ?? ''
  if (flag === undefined && text === '') return undefined
  const number = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0
  if (number >= 1 && number <= MAX_RUNNING_MAX) return number
  const source = flag === undefined ? 'RESOLVE_MAX_RUNNING' : '--max-running'
  throw fail('usage', { problem: `${source} must be a whole number from 1 to ${MAX_RUNNING_MAX}.` })
}
