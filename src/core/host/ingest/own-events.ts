/** Tells which event types a resolver may be expected to write (spec, Events). The monitor warns of others. */
import { tierOf } from '../../protocol/event.ts'

/** The kind of the warning about an event of tier 3 that is not named after its resolver. */
export const FOREIGN_PREFIX = 'foreign_prefix'

/** Whether the type is of tier 2, or begins with the resolver's name as it is or in snake_case. */
export function isOwnEvent(type: string, name: string): boolean {
  if (tierOf(type) !== 3 || type.startsWith(`${name}.`)) return true
  return name.includes('-') && type.startsWith(`${name.replaceAll('-', '_')}.`)
}
