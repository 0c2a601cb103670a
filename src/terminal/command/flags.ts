/** Flags that several commands share. */

import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { nearest } from '../../core/primitives/nearest.ts'
import { type BudgetRequest, budgetIn } from '../../core/protocol/instance.ts'
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
    description: 'a JSON file with fields, "-" for stdin; -i takes precedence',
  }),
}

export const executorFlag = Flags.string({
  options: ['auto', 'local', 'docker'],
  default: 'auto',
  description: 'where the worker runs',
})

export const labelFlag = Flags.string({
  multiple: true,
  multipleNonGreedy: true,
  helpValue: 'key=value',
  description: 'a label to find the instance by; repeat it for each',
})

export const budgetFlags = {
  'budget-usd': Flags.string({
    helpValue: 'USD',
    description: 'what its LLM sessions may cost together, such as 2.50 (default: RESOLVE_BUDGET_USD, else no limit)',
  }),
  'budget-tokens': Flags.string({
    helpValue: 'N',
    description: 'how many tokens its LLM sessions may use together (default: RESOLVE_BUDGET_TOKENS, else no limit)',
  }),
}

export const jsonlFlag = {
  jsonl: Flags.boolean({
    description: 'print every event as one line of JSON, then a closing line',
    exclusive: ['json'],
  }),
}

export const followFlags = {
  ...jsonlFlag,
  answers: Flags.string({
    helpValue: 'F',
    description: 'a JSON file with prepared answers: {"request-id or glob": {"field": value}}',
  }),
  'on-input': Flags.string({
    options: ['prompt', 'leave', 'wait', 'cancel'],
    description: 'what to do when a question opens (default: prompt on a terminal, else leave)',
  }),
  timeout: Flags.string({
    helpValue: 'DUR',
    description: 'leave after 30s, 5m, 1h30m or 90 (seconds), also while it waits in the queue; the instance continues',
  }),
  verbose: Flags.boolean({ description: 'also show what the worker prints and logs' }),
}

export const idArg = { id: Args.string({ description: 'an id, a prefix of one, @last, or a name' }) }

export const requiredIdArg = {
  id: Args.string({ description: 'an id, a prefix of one, @last, or a name', required: true }),
}

/** Words that a status is called in tables and by other programs. */
const OTHER_WORDS: ReadonlyMap<string, Status> = new Map([
  ['waiting', 'awaiting_input'],
  ['waiting for you', 'awaiting_input'],
  ['queued', 'created'],
  ['done', 'completed'],
  ['succeeded', 'completed'],
  ['stopped', 'cancelled'],
])

/** Parses `--status running,paused`, also when repeated. Throws `usage` with the list of statuses. */
export function toStatuses(given: readonly string[] | undefined): Status[] | undefined {
  if (given === undefined) return undefined
  return given
    .flatMap((one) => one.split(','))
    .map((word) => {
      const status = STATUSES.find((known) => known === word.trim())
      if (status !== undefined) return status
      const near = OTHER_WORDS.get(word.trim().toLowerCase()) ?? nearest(word.toLowerCase(), STATUSES)
      const meant = near === undefined ? '' : ` Did you mean "${near}"?`
      throw usage(`There is no status "${word}".${meant} The statuses are: ${STATUSES.join(', ')}.`, {
        fields: [{ id: 'status', message: STATUSES.join(', ') }],
      })
    })
}

/** Parses `--budget-usd` and `--budget-tokens`. Throws `usage` for what is no amount. */
export function parseBudget(flags: {
  'budget-usd'?: string | undefined
  'budget-tokens'?: string | undefined
}): BudgetRequest {
  const { 'budget-usd': usd, 'budget-tokens': tokens } = flags
  const budget_usd = usd === undefined ? undefined : /^\d{1,7}(?:\.\d{1,6})?$/.test(usd.trim()) ? Number(usd) : 0
  if (budget_usd === 0) throw usage(`--budget-usd: "${usd}" is no amount of US dollars; write 5 or 0.50.`)
  const budget_tokens = tokens === undefined ? undefined : /^\d{1,12}$/.test(tokens.trim()) ? Number(tokens) : 0
  if (budget_tokens === 0) throw usage(`--budget-tokens: "${tokens}" is no number of tokens; write 200000.`)
  return budgetIn({ budget_usd, budget_tokens })
}
