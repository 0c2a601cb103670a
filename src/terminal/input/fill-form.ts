/** Fills in a form from flags, or on a terminal by asking, and submits it: for `answer` and `message`. */
import { fail, ResolveError } from '../../core/errors.ts'
import type { Form, Payload } from '../../core/protocol/form.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { fieldsOf } from '../../core/view/fields.ts'
import { askForm } from '../form/ask-form.ts'
import { CommandError, withSentence } from '../output/command-error.ts'
import { EXIT } from '../output/exit-codes.ts'
import type { Output } from '../output/output.ts'
import { fitToAnswer, type GivenInput, type InputFlags, readInput } from './input-flags.ts'

export interface FillPlan {
  form: Form
  prompt: string
  flags: InputFlags
  mayAsk: boolean
  output: Output
  submit: (payload: Payload) => Promise<unknown>
  /** The label of the submit row: `Answer`, `Send`. */
  submitWord: string
  /** What Esc does, as shown in the footer. */
  escapeWord: string
  /** The message if the user closes the form without submitting. */
  givenUp: string
  /** The command line for what was given and what is wrong with it, shown if the form is not valid. */
  example: (given?: GivenInput, wrong?: readonly string[]) => string
  /** Aborts with an error when the form is no longer needed. */
  signal?: AbortSignal
}

/** Submits a valid form. Throws `form_invalid` with all messages if no question may be asked; exit code 130 if the user closes the form. */
export async function fillForm(plan: FillPlan): Promise<void> {
  const { form, flags, mayAsk } = plan
  const given = await readInput(flags)
  const nothingGiven = given.named.length === 0 && flags['input-file'] === undefined
  if (!mayAsk && nothingGiven && form.components.length > 0) throw nothingSaid(plan)
  const payload = fitToAnswer(given, form)
  if (!mayAsk || !nothingGiven || form.components.length === 0) {
    const error = await refusalOf(plan, payload)
    if (error === undefined) return
    if (!mayAsk) {
      const wrong = error.fields.map(({ id }) => id)
      throw new CommandError(error, { next: [plan.example({ ...given, payload }, wrong)] })
    }
  }
  const { prompt, submitWord, escapeWord, signal } = plan
  const submit = async (filled: Payload) => (await refusalOf(plan, filled))?.errors ?? []
  const asked = { title: prompt, form, before: payload, submitWord, escapeWord, submit }
  const ended = await askForm({ ...asked, ...(signal === undefined ? {} : { signal }) }, plan.output)
  if (ended.kind === 'closed') throw signal?.reason
  if (ended.kind === 'submitted') return
  throw new CommandError(fail('usage', { problem: plan.givenUp }), { next: [plan.example(given)] }, EXIT.interrupted)
}

/** The defaults of a form must not answer a question by themselves: a person or a script gives at least one field. */
function nothingSaid({ form, example }: FillPlan): CommandError {
  const fields = fieldsOf(form).map(({ id, required, kind, options }) => {
    const choices = kind === 'checkbox' ? ['true', 'false'] : options.map(({ value }) => cleanLine(value))
    const parts = [choices.slice(0, CHOICES_NAMED).join(' or '), required ? 'required' : 'optional']
    return { id, message: parts.filter((part) => part !== '').join(', ') }
  })
  const error = withSentence(fail('form_invalid', { errors: [], fields }), 'form_invalid', {
    message: 'No field is given.',
    hint: 'Give fields with -i field=value or --input-file; a file with {} sends the defaults of the form.',
  })
  return new CommandError(error, { next: [example()] })
}

const CHOICES_NAMED = 8

/** The failing checks as an error; undefined if the payload was accepted. */
async function refusalOf(plan: FillPlan, payload: Payload): Promise<ResolveError | undefined> {
  try {
    await plan.submit(payload)
    return undefined
  } catch (error) {
    if (error instanceof ResolveError && error.code === 'form_invalid') return error
    throw error
  }
}
