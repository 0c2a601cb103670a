/** The one way to ask a person for a form on a terminal: drawn with Ink, or by the line where a terminal cannot be drawn on. */
import type { Output } from '../output.ts'
import type { FormEnd, FormPlan } from './form-session.ts'

/** A screen reader is told line by line; a dumb terminal can do no more. */
export function drawsForms(env: NodeJS.ProcessEnv = process.env): boolean {
  return env['TERM'] !== 'dumb' && env['INK_SCREEN_READER'] !== 'true'
}

export async function askForm(plan: FormPlan, output: Output): Promise<FormEnd> {
  if (!drawsForms()) {
    const { plainForm } = await import('../prompt-form.ts')
    return await plainForm(plan, output)
  }
  // Ink asks the environment for colour, and only at its import; stdout may be a pipe while stderr is the terminal.
  const before = process.env['FORCE_COLOR']
  process.env['FORCE_COLOR'] = output.colorOn(process.stderr) ? '1' : '0'
  const { openForm } = await import('./open-form.tsx')
  if (before === undefined) delete process.env['FORCE_COLOR']
  else process.env['FORCE_COLOR'] = before
  return await openForm(plan)
}
