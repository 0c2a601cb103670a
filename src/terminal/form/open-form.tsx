/** Draws a form with Ink on stderr in its own frame, and removes it at the end. Loaded only when a form is drawn. */
import { render, useWindowSize } from 'ink'
import { checkedSession, type FormEnd, type FormPlan, type FormSession } from './form-session.ts'
import { FormView } from './form-view.tsx'

export async function openForm(plan: FormPlan): Promise<FormEnd> {
  const session = await checkedSession(plan)
  // The caller has decided to draw; Ink's own detection looks at stdout and CI.
  const ink = render(<OwnFrame plan={plan} session={session} />, {
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

function OwnFrame({ plan, session }: { plan: FormPlan; session: FormSession }) {
  const { columns, rows } = useWindowSize()
  // Ink would clear the terminal with every change if the frame were as high as the terminal.
  const room = { columns, rows: Math.max(1, rows - 2) }
  return <FormView plan={plan} session={session} room={room} interactive={process.stdin.isTTY === true} />
}
