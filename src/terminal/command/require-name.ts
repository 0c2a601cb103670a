/** Refuses a name that no instance can have before anything is asked or sent: `run`, `retry` and `instance rename` call it. */
import { INSTANCE_NAME_RULE, isInstanceName } from '../../core/protocol/names.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { usage } from '../output/command-error.ts'

const SHOWN_MAX_CHARS = 80

/** Throws `usage`, which says the rule. */
export function requireName(name: string | undefined): void {
  if (name === undefined || isInstanceName(name)) return
  throw usage(`"${cleanLine(name).slice(0, SHOWN_MAX_CHARS)}" can't name an instance: ${INSTANCE_NAME_RULE}.`)
}
