/** The input of a run: from flags and file, fitted to the resolver's form, and on a terminal asked for where it is missing. */

import { fail } from '../core/errors.ts'
import type { Platform } from '../core/index.ts'
import type { Form, Payload } from '../core/protocol/form.ts'
import { cleanText } from './clean.ts'
import { CommandError } from './command-error.ts'
import { fitToForm, type GivenInput } from './input-flags.ts'
import { fieldFlags } from './next-steps.ts'
import type { Output } from './output.ts'
import { promptForm } from './prompt-form.ts'
import { commandLine } from './shell.ts'

/** The checked input. Throws `form_invalid` with every message, or `usage` for a field that is none. */
export async function gatherInput(
  platform: Platform,
  resolver: string,
  given: GivenInput,
  options: { mayAsk: boolean; output: Output },
): Promise<Payload> {
  let { payload, form, errors } = await checkFitted(platform, resolver, given)
  while (errors.length > 0) {
    if (!options.mayAsk || form === null) throw invalid(resolver, form, errors)
    for (const message of errors) options.output.say(options.output.paint('yellow', `  ${cleanText(message)}`))
    const asked = await promptForm({ prompt: '', form, before: payload })
    if (asked === undefined) throw invalid(resolver, form, errors)
    ;({ payload, form, errors } = await checkFitted(platform, resolver, { payload: asked, named: [] }))
  }
  return payload
}

/** The form for this input (R10), the input as that form wants it, and every failing message. */
async function checkFitted(
  platform: Platform,
  resolver: string,
  given: GivenInput,
): Promise<{ payload: Payload; form: Form | null; errors: string[] }> {
  const first = await platform.check(resolver, given.payload)
  const payload = fitToForm(given, first.form)
  const same = JSON.stringify(payload) === JSON.stringify(given.payload)
  return { payload, ...(same ? first : await platform.check(resolver, payload)) }
}

function invalid(resolver: string, form: Form | null, errors: string[]): CommandError {
  const example = commandLine('run', resolver, ...fieldFlags(form?.components ?? []))
  return new CommandError(fail('form_invalid', { errors }), {
    next: [commandLine('resolver', 'schema', resolver), example],
  })
}
