/** Reads labels of flags and arguments: `key=value`, and `key=` or `key-` to remove one. */
import { LABEL_KEY_PATTERN, LABEL_VALUE_PATTERN, type LabelChanges, type Labels } from '../../core/protocol/instance.ts'
import { usage } from '../output/command-error.ts'

const KEY = new RegExp(LABEL_KEY_PATTERN)
const VALUE = new RegExp(LABEL_VALUE_PATTERN)

/** Throws `usage` for a pair without `=`, and for a key or value that no label can have. */
export function parseLabels(given: readonly string[] = []): Labels {
  return Object.fromEntries(given.map(parseLabel))
}

export function parseLabelChanges(given: readonly string[]): LabelChanges {
  return Object.fromEntries(
    given.map((word) => (word.endsWith('-') && !word.includes('=') ? removed(word) : parseLabel(word))),
  )
}

/** As `--label` of a list takes it: `key=value`, or `key` for any value. */
export function checkLabelFilter(given: readonly string[] | undefined): readonly string[] | undefined {
  for (const word of given ?? []) checkKey(word, word.split('=')[0] ?? '')
  return given
}

function parseLabel(word: string): [string, string] {
  const equals = word.indexOf('=')
  if (equals < 1) throw usage(`"${word}" is not a label; write key=value.`)
  const [key, value] = [word.slice(0, equals), word.slice(equals + 1)]
  checkKey(word, key)
  if (!VALUE.test(value)) throw usage(`"${word}": the value of a label has at most 200 characters, on one line.`)
  return [key, value]
}

function removed(word: string): [string, null] {
  const key = word.slice(0, -1)
  checkKey(word, key)
  return [key, null]
}

function checkKey(word: string, key: string): void {
  if (KEY.test(key)) return
  throw usage(
    `"${word}": the key of a label has letters, digits and . _ - /, at most 63, and begins with a letter or digit.`,
  )
}
