/** Gathers the input of a run from flags and file, fits it to the resolver's form, and on a terminal asks for missing fields. */

import { fail } from '../../core/errors.ts'
import type { FormCheck, Platform } from '../../core/index.ts'
import type { Payload } from '../../core/protocol/form.ts'
import type { Executor } from '../../core/protocol/journal.ts'
import { askForm } from '../form/ask-form.ts'
import { CommandError, usage } from '../output/command-error.ts'
import { EXIT } from '../output/exit-codes.ts'
import { fieldFlags } from '../output/next-steps.ts'
import type { Output } from '../output/output.ts'
import { commandLine } from '../output/shell.ts'
import { fitToDisclosed, type GivenInput } from './input-flags.ts'

export interface GatherOptions {
  mayAsk: boolean
  /** `--edit`: opens the form even if no field is missing. */
  edit: boolean
  /** Where the resolver will run, and where it is asked for its form. */
  executor: Executor | 'auto'
  output: Output
}

/** Returns the checked input. Throws `form_invalid` with all messages, `usage` for an unknown field; exit code 130 if the user closes the form. */
export async function gatherInput(
  platform: Platform,
  resolver: string,
  given: GivenInput,
  { mayAsk, edit, executor, output }: GatherOptions,
): Promise<Payload> {
  if (edit && !mayAsk) throw usage('--edit opens a form and needs a terminal.')
  const { payload, form, errors, fields } = await checkFitted(platform, resolver, given, executor)
  if (form === null || (errors.length === 0 && !edit)) return payload
  if (!mayAsk) throw invalid(resolver, { form, errors, fields }, payload)
  const ended = await askForm(
    {
      title: resolver,
      form,
      before: payload,
      submitWord: 'Run',
      escapeWord: 'cancel',
      schema: (input) => platform.schema(resolver, input, { executor }),
      submit: async (input) => (await platform.check(resolver, input, { executor })).errors,
    },
    output,
  )
  if (ended.kind === 'submitted') return ended.payload
  throw new CommandError(fail('usage', { problem: 'No instance was created.' }), {}, EXIT.interrupted)
}

/** The form for this input (R10), the input fitted to it, and all failing messages. */
async function checkFitted(
  platform: Platform,
  resolver: string,
  given: GivenInput,
  executor: Executor | 'auto',
): Promise<{ payload: Payload } & FormCheck> {
  const { payload, asked } = await fitToDisclosed(given, (tried) => platform.check(resolver, tried, { executor }))
  return { payload, ...asked }
}

function invalid(resolver: string, { form, errors, fields }: FormCheck, given: Payload): CommandError {
  const example = commandLine('run', resolver, ...fieldFlags(form?.components ?? [], given))
  return new CommandError(fail('form_invalid', { errors, fields }), {
    next: [commandLine('resolver', 'schema', resolver), example],
  })
}
