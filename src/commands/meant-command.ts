/** Which commands were probably meant by words that are none: another name for the same, a verb without its noun, a misspelt word. */
import { nearest } from '../core/primitives/nearest.ts'
import { COMMANDS, commandWords, NOUNS, SHORT_FORMS } from './index.ts'

/** What other programs call these commands. Only those that exist are offered. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  rm: ['instance prune', 'resolver remove', 'token revoke'],
  remove: ['instance prune', 'resolver remove', 'token revoke'],
  delete: ['instance prune', 'resolver remove', 'token revoke'],
  del: ['instance prune', 'resolver remove', 'token revoke'],
  clean: ['instance prune', 'worker prune', 'git prune'],
  retry: ['instance retry', 'instance resume', 'instance run'],
  rerun: ['instance retry', 'instance run'],
  restart: ['instance retry', 'instance resume'],
  continue: ['instance resume'],
  log: ['instance logs', 'instance events'],
  logs: ['instance logs', 'instance events'],
  tail: ['instance logs', 'instance watch'],
  follow: ['instance watch'],
  attach: ['instance watch'],
  ls: ['instance list', 'resolver list', 'token list'],
  ps: ['instance list'],
  kill: ['instance stop'],
  abort: ['instance stop'],
  end: ['instance stop'],
  start: ['instance run', 'serve'],
  exec: ['instance run'],
  launch: ['instance run'],
  status: ['instance show', 'instance list'],
  info: ['instance show', 'resolver show'],
  describe: ['instance show', 'resolver show'],
  inspect: ['instance show', 'resolver show'],
  why: ['instance explain'],
  reply: ['instance answer'],
  respond: ['instance answer'],
  approve: ['instance answer'],
  questions: ['inbox'],
  pending: ['inbox'],
  send: ['instance message'],
  files: ['instance data'],
  download: ['instance data'],
  form: ['resolver schema'],
  install: ['resolver add'],
  upgrade: ['resolver update'],
  server: ['serve'],
  web: ['serve'],
  ui: ['serve'],
  check: ['doctor'],
}

/** `instance show` of `show`, `resolver remove` of `resolver rm`; the most probable first, [] if none is near. */
export function meantCommands(given: readonly string[]): string[] {
  const [first = '', second] = given.map((word) => word.toLowerCase())
  const commands = Object.keys(COMMANDS)
    .filter((id) => !SHORT_FORMS.includes(id))
    .map(commandWords)
  if (NOUNS.includes(first)) return second === undefined ? [] : ofNoun(first, second, commands)
  const verbs = commands.filter((command) => command.split(' ').at(-1) === first)
  const known = [...new Set([...verbs, ...otherNames(first, commands)])]
  if (known.length > 0) return known
  // `instence list`: the noun is misspelt.
  const noun = second === undefined ? undefined : nearest(first, NOUNS)
  if (noun !== undefined && commands.includes(`${noun} ${second}`)) return [`${noun} ${second}`]
  const whole = nearest(given.join(' ').toLowerCase(), commands)
  if (whole !== undefined) return [whole]
  const alone = nearest(first, [
    ...commands.filter((command) => !command.includes(' ')),
    ...SHORT_FORMS,
    ...NOUNS,
    'help',
  ])
  if (alone !== undefined) return [alone]
  const verb = nearest(first, new Set(commands.map((command) => command.split(' ').at(-1) ?? '')))
  if (verb !== undefined) return commands.filter((command) => command.split(' ').at(-1) === verb)
  return otherNames(nearest(first, Object.keys(OTHER_NAMES)) ?? '', commands)
}

function ofNoun(noun: string, verb: string, commands: readonly string[]): string[] {
  const other = otherNames(verb, commands).filter((command) => command.startsWith(`${noun} `))
  if (other.length > 0) return other
  const own = commands.filter((command) => command.startsWith(`${noun} `))
  const near = nearest(
    verb,
    own.map((command) => command.slice(noun.length + 1)),
  )
  if (near !== undefined) return [`${noun} ${near}`]
  // `instance add`: the verb belongs to another noun.
  const elsewhere = commands.filter((command) => command.split(' ').at(-1) === verb)
  if (elsewhere.length > 0) return elsewhere
  // `resolver ad`: a verb that is not written to its end. `instance delet`: another name, misspelt.
  const begun = own.filter((command) => verb.length > 1 && command.startsWith(`${noun} ${verb}`))
  if (begun.length > 0) return begun
  const misspelt = nearest(verb, Object.keys(OTHER_NAMES))
  return misspelt === undefined ? [] : otherNames(misspelt, own)
}

function otherNames(word: string, commands: readonly string[]): string[] {
  const names = Object.hasOwn(OTHER_NAMES, word) ? (OTHER_NAMES[word] ?? []) : []
  return names.filter((command) => commands.includes(command))
}
