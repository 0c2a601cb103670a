/** Flags that several commands share, so that they are spelled and described once. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { nearest } from '../../core/primitives/nearest.ts'
import { STATUSES, type Status } from '../../core/protocol/status.ts'
import { usage } from '../output/command-error.ts'

export const inputFlags = {
  input: Flags.string({
    char: 'i',
    multiple: true,
    multipleNonGreedy: true,
    helpValue: 'field=value',
    description: 'a field of the form; field=@file reads a file, field=@@x is "@x"',
  }),
  'input-file': Flags.string({
    helpValue: 'F|-',
    description: 'a JSON object with fields, "-" for stdin; -i wins over it',
  }),
}

export const jsonlFlag = {
  jsonl: Flags.boolean({
    description: 'print every event as it is, one a line, then one closing line',
    exclusive: ['json'],
  }),
}

export const followFlags = {
  ...jsonlFlag,
  answers: Flags.string({
    helpValue: 'F',
    description: 'answers chosen beforehand: {"request-id or glob": {"field": value}}',
  }),
  'on-input': Flags.string({
    options: ['prompt', 'leave', 'wait', 'cancel'],
    description: 'what to do about a question (default: prompt on a terminal, else leave)',
  }),
  timeout: Flags.string({ helpValue: 'DUR', description: 'let go after 30s, 5m, 1h30m; the instance goes on' }),
}

export const idArg = { id: Args.string({ description: 'an id, a beginning of it, or @last' }) }

export const requiredIdArg = { id: Args.string({ description: 'an id, a beginning of it, or @last', required: true }) }

/** `--status running,paused`, or the flag again and again. Throws `usage` naming the eight. */
export function toStatuses(given: readonly string[] | undefined): Status[] | undefined {
  if (given === undefined) return undefined
  return given
    .flatMap((one) => one.split(','))
    .map((word) => {
      const status = STATUSES.find((known) => known === word.trim())
      if (status !== undefined) return status
      const near = nearest(word.toLowerCase(), STATUSES)
      const meant = near === undefined ? '' : ` Did you mean "${near}"?`
      throw usage(`There is no status "${word}".${meant} The statuses are: ${STATUSES.join(', ')}.`, {
        fields: [{ id: 'status', message: STATUSES.join(', ') }],
      })
    })
}
