/** Opens a form with Ink on stderr, in a frame of its own, and takes it away when it ends. Loaded only when a form is drawn. */
import { render, useWindowSize } from 'ink'
import { checkedSession, type FormEnd, type FormPlan, type FormSession } from './form-session.ts'
import { FormView } from './form-view.tsx'

export async function openForm(plan: FormPlan): Promise<FormEnd> {
  const session = await checkedSession(plan)
  // Whether to draw was decided before; Ink's own guess goes by stdout and by an empty CI.
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
  // A frame as high as the terminal would clear it with every change.
  const room = { columns, rows: Math.max(1, rows - 2) }
  return <FormView plan={plan} session={session} room={room} interactive={process.stdin.isTTY === true} />
}
