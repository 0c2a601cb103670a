/** Opens a form with Ink on stderr, and takes it away when it ends. Loaded only when a form is drawn. */
import { render } from 'ink'
import { failingChecks } from '../../core/forms/validate.ts'
import { type FormEnd, type FormPlan, openFormSession } from './form-session.ts'
import { FormView } from './form-view.tsx'

export async function openForm(plan: FormPlan): Promise<FormEnd> {
  // The core is loaded by now; its door says how long a pattern may run.
  const { boundedMatcher } = await import('../../core/index.ts')
  const session = openFormSession(plan, (form, payload) => failingChecks(form, payload, boundedMatcher()))
  const isTerminal = process.stdin.isTTY === true
  // Whether to draw was decided before; Ink's own guess goes by stdout and by an empty CI.
  const ink = render(<FormView plan={plan} session={session} interactive={isTerminal} />, {
    stdout: process.stderr,
    exitOnCtrlC: false,
    patchConsole: false,
    interactive: true,
  })
  try {
    return await session.ended
  } finally {
    await ink.waitUntilRenderFlush()
    ink.clear()
    ink.unmount()
    await ink.waitUntilExit()
  }
}
