/** Gathers the input of a run from flags and file, fits it to the resolver's form, and on a terminal asks for missing fields. */

import { fail } from '../../core/errors.ts'
import type { FormCheck, Platform } from '../../core/index.ts'
import type { Component, Payload } from '../../core/protocol/form.ts'
import type { Executor } from '../../core/protocol/journal.ts'
import { oddities } from '../../core/view/misfits.ts'
import { askForm } from '../form/ask-form.ts'
import { CommandError, usage } from '../output/command-error.ts'
import { EXIT } from '../output/exit-codes.ts'
import { fieldFlags } from '../output/next-steps.ts'
import type { Output } from '../output/output.ts'
import { commandLine } from '../output/shell.ts'
import { fitToDisclosed, type GivenInput } from './input-flags.ts'
import { isPreparing, showPreparation } from './when-prepared.ts'

export interface GatherOptions {
  mayAsk: boolean
  /** `--edit`: opens the form even if no field is missing. */
  edit: boolean
  /** Where the resolver will run, and where it is asked for its form. */
  executor: Executor | 'auto'
  output: Output
  /** Whether the input must be checked now, also where the resolver is not prepared: no instance follows that would check it (R48). */
  checksNow: boolean
  /** The limit for a setup that comes before the form. */
  timeoutMs?: number | undefined
  /** The same command with these fields. */
  again: (fields: readonly string[]) => string
  /** The fields that the repeated command needs: one that runs an instance again has the others. Default: all. */
  changed?: ReadonlySet<string>
  /** Called with the duration of such a setup. */
  onPrepared?: (durationMs: number) => void
}

/**
 * Returns the checked input. Where the resolver is not prepared and its form is not needed, returns the input as it is: the host checks
 * it after the setup (R48). Throws `form_invalid` with all messages, `usage` for an unknown field; exit code 130 if
 * the user closes the form.
 */
export async function gatherInput(
  platform: Platform,
  resolver: string,
  given: GivenInput,
  options: GatherOptions,
): Promise<Payload> {
  const { mayAsk, edit, executor, output } = options
  if (edit && !mayAsk) throw usage('--edit opens a form and needs a terminal.')
  const checked = await checkOncePrepared(platform, resolver, given, options)
  if (checked === undefined) return given.payload
  const { payload, form, errors, fields } = checked
  if (form === null) return payload
  if (errors.length === 0 && !edit) {
    for (const { message } of oddities(form, payload)) output.note(output.paint('yellow', `${message} ${PASSED_ON}`))
    return payload
  }
  if (!mayAsk) throw invalid(resolver, { form, errors, fields }, { ...given, payload }, options)
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

const PASSED_ON = 'The resolver gets it as it is.'

/** Undefined where the resolver is not prepared and its form is not needed: then the setup belongs to the instance. */
async function checkOncePrepared(
  platform: Platform,
  resolver: string,
  given: GivenInput,
  { mayAsk, executor, output, checksNow, timeoutMs, onPrepared }: GatherOptions,
) {
  const check = () => checkFitted(platform, resolver, given, executor)
  try {
    return await check()
  } catch (error) {
    if (!isPreparing(error)) throw error
  }
  // A value of -i is fitted to its field.
  if (!mayAsk && !checksNow && given.named.length === 0) return undefined
  const wish = { executor, output, timeoutMs }
  onPrepared?.(await showPreparation((how) => platform.prepare(resolver, how), resolver, wish))
  return await check()
}

/** The form for this input (R10), the input fitted to it, and all failing messages. */
async function checkFitted(
  platform: Platform,
  resolver: string,
  given: GivenInput,
  executor: Executor | 'auto',
): Promise<{ payload: Payload } & FormCheck> {
  const { payload, asked } = await fitToDisclosed(given, (tried) =>
    platform.check(resolver, tried, { executor, waitMs: 0 }),
  )
  return { payload, ...asked }
}

function invalid(
  resolver: string,
  { form, errors, fields }: FormCheck,
  given: GivenInput,
  { again, changed }: GatherOptions,
): CommandError {
  const wrong = fields.map(({ id }) => id)
  const isNeeded = ({ id }: Component) => changed === undefined || changed.has(id) || wrong.includes(id)
  const components = (form?.components ?? []).filter(isNeeded)
  return new CommandError(fail('form_invalid', { errors, fields }), {
    next: [commandLine('resolver', 'schema', resolver), again(fieldFlags(components, given, wrong))],
  })
}
