/** A form filled in from flags, or on a terminal by a person, and submitted: for `answer` and `message`. */
import { fail, ResolveError } from '../core/errors.ts'
import type { Form, Payload } from '../core/protocol/form.ts'
import { cleanText } from './clean.ts'
import { CommandError } from './command-error.ts'
import { fitToForm, type InputFlags, readInput } from './input-flags.ts'
import type { Output } from './output.ts'
import { promptForm } from './prompt-form.ts'

export interface FillPlan {
  form: Form
  prompt: string
  flags: InputFlags
  mayAsk: boolean
  output: Output
  submit: (payload: Payload) => Promise<unknown>
  /** A command line with every field, shown where the form is not valid. */
  example: string
}

/** Submits once it is valid. Throws `form_invalid` with every message where nobody may be asked, or the person gave up. */
export async function fillForm(plan: FillPlan): Promise<void> {
  const { form, flags, mayAsk, output } = plan
  const given = await readInput(flags)
  const nothingGiven = given.named.length === 0 && flags['input-file'] === undefined
  let payload = fitToForm(given, form)
  let ask = mayAsk && nothingGiven && form.components.length > 0
  for (;;) {
    if (ask) {
      const asked = await promptForm({ prompt: plan.prompt, form, before: payload })
      if (asked === undefined) throw new CommandError(noAnswer(), { next: [plan.example] })
      payload = asked
    }
    try {
      await plan.submit(payload)
      return
    } catch (error) {
      if (!(error instanceof ResolveError) || error.code !== 'form_invalid') throw error
      if (!mayAsk) throw new CommandError(error, { next: [plan.example] })
      for (const message of error.errors) output.say(output.paint('yellow', `  ${cleanText(message)}`))
      ask = true
    }
  }
}

function noAnswer(): ResolveError {
  return fail('usage', { problem: 'Nothing was sent.' })
}
