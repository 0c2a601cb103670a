/** Finds the command in the arguments, for main.ts. Global flags may precede the command and its verb; its words end at the first other flag. */
import { splitFlagsBefore } from '../terminal/command/flags-before.ts'
import { TOPICS } from '../terminal/help/help-topics.ts'
import { COMMANDS, NOUNS } from './index.ts'

export type Found =
  | { kind: 'command'; id: string; rest: string[] }
  | { kind: 'overview'; rest: string[] }
  | { kind: 'help'; id?: string; noun?: string; topic?: string }
  | { kind: 'version' }
  | { kind: 'unknown'; words: string[] }
  /** A flag where a command was expected. */
  | { kind: 'unknown flag'; flag: string; noun?: string }

export function findCommand(argv: readonly string[]): Found {
  const { before, after } = inFront(argv)
  const [first, second] = after
  if (first === undefined) return { kind: 'overview', rest: before }
  if (first === 'version' || first === '--version' || first === '-v') return { kind: 'version' }
  if (first === 'help') return aboutHelp(after.slice(1))
  if (isHelpFlag(first)) return { kind: 'help' }
  if (first.startsWith('-')) return { kind: 'unknown flag', flag: flagOf(first) }

  const pair = second === undefined || second.startsWith('-') ? undefined : `${first}:${second}`
  for (const [id, words] of [
    [pair, 2],
    [first, 1],
  ] as const) {
    if (id === undefined || !Object.hasOwn(COMMANDS, id)) continue
    const rest = after.slice(words)
    const end = rest.indexOf('--')
    if ((end === -1 ? rest : rest.slice(0, end)).some(isHelpFlag)) return { kind: 'help', id }
    return { kind: 'command', id, rest: [...before, ...rest] }
  }
  if (NOUNS.includes(first) && pair === undefined) {
    const wrong = after.slice(1).find((word) => !isHelpFlag(word))
    return wrong === undefined
      ? { kind: 'help', noun: first }
      : { kind: 'unknown flag', flag: flagOf(wrong), noun: first }
  }
  return {
    kind: 'unknown',
    words: pair === undefined ? [first] : [first, second ?? ''],
  }
}

/** The global flags before the command, and those between a noun and its verb. */
function inFront(argv: readonly string[]): { before: string[]; after: string[] } {
  const { before, after } = splitFlagsBefore(argv)
  const [noun] = after
  if (noun === undefined || !NOUNS.includes(noun)) return { before, after }
  const between = splitFlagsBefore(after.slice(1))
  return { before: [...before, ...between.before], after: [noun, ...between.after] }
}

function flagOf(word: string): string {
  return word.split('=', 1)[0] ?? word
}

function aboutHelp(words: readonly string[]): Found {
  const [first, second] = words.filter((word) => !word.startsWith('-'))
  if (first === undefined) return { kind: 'help' }
  if (Object.hasOwn(TOPICS, first) && second === undefined) return { kind: 'help', topic: first }
  const pair = `${first}:${second ?? ''}`
  if (Object.hasOwn(COMMANDS, pair)) return { kind: 'help', id: pair }
  if (Object.hasOwn(COMMANDS, first)) return { kind: 'help', id: first }
  if (NOUNS.includes(first) && second === undefined) return { kind: 'help', noun: first }
  return { kind: 'unknown', words: second === undefined ? [first] : [first, second] }
}

function isHelpFlag(word: string): boolean {
  return word === '--help' || word === '-h'
}
