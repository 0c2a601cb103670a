/**
 * The names that people and scripts give instances and schedules: one rule each, for the command line, the API and the page. It binds new
 * names only: what an older version stored is still read.
 */
import { nullable, text } from '../schema/schema.ts'

const INSTANCE_NAME_MAX_CHARS = 200

/** The word @last and ids are taken where a name is, so no name looks like one. */
const NO_ID = '(?![0-9a-fA-F]{12}$)'
/** As {@link NO_ID}, whatever stands between the digits that a list does not show. */
const NO_ID_SEEN = '(?!(?:\\p{Default_Ignorable_Code_Point}*[0-9a-fA-F]){12}\\p{Default_Ignorable_Code_Point}*$)'
/** Not a space or a joiner at the beginning: a list would show the name as another one. */
const ENDS = '(?![@\\s\\u200c\\u200d])(?!.*\\s$)'
/** At least one letter, digit, sign or symbol that is seen: not only marks, joiners, variation selectors and fillers. */
const SEEN = '(?=.*(?![\\p{Default_Ignorable_Code_Point}\\u2800])[\\p{L}\\p{N}\\p{P}\\p{S}])'
/** No control characters, line separators and lone surrogates, and none that are invisible or change the reading direction; joiners stay, for scripts and emoji that need them. */
const CHARACTER = '(?:[\\u200c\\u200d]|[^\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}])'

export const INSTANCE_NAME_RULE = `a name has 1 to ${INSTANCE_NAME_MAX_CHARS} visible characters on one line, does not begin with "@" or a space, does not end with a space, and is not 12 hexadecimal digits as an id is`

export const instanceName = () =>
  nullable(
    text({
      maxLength: INSTANCE_NAME_MAX_CHARS,
      pattern: `^${ENDS}${NO_ID_SEEN}${SEEN}${CHARACTER}{1,${INSTANCE_NAME_MAX_CHARS}}$`,
    }),
    { description: `A name for people: ${INSTANCE_NAME_RULE}` },
  )

let instanceNamePattern: RegExp | undefined

export function isInstanceName(name: string): boolean {
  // Compiled at its first use: with its classes of Unicode it takes 1.5 ms of every command.
  instanceNamePattern ??= new RegExp(instanceName()['pattern'] as string, 'u')
  return instanceNamePattern.test(name)
}

/** A name that is taken over from an instance or a schedule of an older version; null where it would be refused now. */
export function nameTakenOver(name: string | null): string | null {
  return name !== null && isInstanceName(name) ? name : null
}

/** Of a schedule as it is stored. A name is also a part of an address. */
export const SCHEDULE_NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'
export const SCHEDULE_NAME_MAX_CHARS = 64

export const SCHEDULE_NAME_RULE = `a name has 1 to ${SCHEDULE_NAME_MAX_CHARS} letters, digits, ".", "_" and "-", begins with a letter or digit, and is not 12 hexadecimal digits as an id is`

/** Of a new schedule. */
export const scheduleName = () =>
  text({
    pattern: SCHEDULE_NAME_PATTERN.replace('^', `^${NO_ID}`),
    description: `Default: the resolver's name, with a number. Else ${SCHEDULE_NAME_RULE}`,
  })

const SCHEDULE_NAME = new RegExp(scheduleName()['pattern'] as string, 'u')

export function isScheduleName(name: string): boolean {
  return SCHEDULE_NAME.test(name)
}
