/** The one way to ask a person for a form on a terminal: drawn with Ink, or by the line where a terminal cannot be drawn on. */
import { withInkColour } from '../output/colour.ts'
import type { Output } from '../output/output.ts'
import { isScreenReader } from '../output/surroundings.ts'
import type { FormEnd, FormPlan } from './form-session.ts'

export async function askForm(plan: FormPlan, output: Output): Promise<FormEnd> {
  // A screen reader is told line by line; a dumb terminal can do no more.
  if (isScreenReader() || process.env['TERM'] === 'dumb') {
    const { plainForm } = await import('./prompt-form.ts')
    return await plainForm(plan, output)
  }
  const { openForm } = await withInkColour(output.colorOn(process.stderr), () => import('./open-form.tsx'))
  return await openForm(plan)
}
