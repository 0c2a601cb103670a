/** Asks the user to fill in a form on the terminal: drawn with Ink, or line by line if the terminal cannot be drawn on. */
import { withInkColour } from '../output/colour.ts'
import type { Output } from '../output/output.ts'
import { isScreenReader } from '../output/surroundings.ts'
import type { FormEnd, FormPlan } from './form-session.ts'

export async function askForm(plan: FormPlan, output: Output): Promise<FormEnd> {
  // Screen readers need plain lines; a dumb terminal supports nothing else.
  if (isScreenReader() || process.env['TERM'] === 'dumb') {
    const { plainForm } = await import('./prompt-form.ts')
    return await plainForm(plan, output)
  }
  const { openForm } = await withInkColour(output.colorOn(process.stderr), () => import('./open-form.tsx'))
  return await openForm(plan)
}
