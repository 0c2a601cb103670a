/** Reads a command of the tests and what is expected of its end (docs/reality-check.md, Command steps). Pure. */
import type { CommandStep } from '../../protocol/check/reality-check.ts'
import { WishFault } from './fault.ts'
import { readPattern, readSeconds } from './http-step.ts'
import { readList, readNumber, readObject, readOptionalText, readText, readTexts } from './read.ts'

const DEFAULT_SECONDS = 60
const WORDS_MAX = 256

export const COMMAND_FIELDS = [
  ...['run', 'stdin', 'expected_exit_code', 'expected_stdout_contains', 'expected_stdout_not_contains'],
  ...['expected_stdout_matches', 'expected_stderr_contains', 'timeout_seconds'],
]

/** Throws a WishFault. Without any expectation the command must end with 0. */
export function readCommandStep(value: unknown, where: string): CommandStep {
  const fields = readObject(value, where, COMMAND_FIELDS)
  const at = (name: string) => `${where}.${name}`
  const expected = COMMAND_FIELDS.filter((name) => name.startsWith('expected_'))
  const isBare = expected.every((name) => fields[name] === undefined)
  const code = fields['expected_exit_code'] ?? (isBare ? 0 : null)
  return {
    run: readRun(fields['run'], at('run')),
    stdin: readOptionalText(fields['stdin'], at('stdin')),
    expected_exit_code: code === null ? null : readNumber(code, at('expected_exit_code'), { min: 0, max: 255 }),
    expected_stdout_contains: readTexts(fields['expected_stdout_contains'], at('expected_stdout_contains')),
    expected_stdout_not_contains: readTexts(fields['expected_stdout_not_contains'], at('expected_stdout_not_contains')),
    expected_stdout_matches: readPattern(fields['expected_stdout_matches'], at('expected_stdout_matches')),
    expected_stderr_contains: readTexts(fields['expected_stderr_contains'], at('expected_stderr_contains')),
    timeout_seconds: readSeconds(fields['timeout_seconds'], at('timeout_seconds'), DEFAULT_SECONDS),
  }
}

function readRun(value: unknown, where: string): string | string[] {
  if (typeof value === 'string' && value.trim() !== '') return readText(value, where)
  const words = Array.isArray(value) ? readList(value, where, WORDS_MAX).map((word) => readText(word, where)) : []
  if (words.length > 0 && words[0] !== '') return words
  throw new WishFault(where, 'a command, or a list of a program and its arguments')
}
