/** Draws the form of an input request below the live frame, and a hint line while the form is put aside. */
import { Text, useInput } from 'ink'
import type { Slot } from '../view/slot.ts'
import { checkedSession, type FormEnd, type FormPlan } from './form-session.ts'
import { FormView } from './form-view.tsx'

export async function askInSlot(slot: Slot, plan: FormPlan): Promise<FormEnd> {
  const session = await checkedSession(plan)
  const interactive = process.stdin.isTTY === true
  slot.put(({ top, ...room }) => (
    <FormView plan={plan} session={session} room={room} top={top} interactive={interactive} onEditor={slot.hold} />
  ))
  try {
    return await session.ended
  } finally {
    slot.put(undefined)
  }
}

/** Resolves when the user opens the form again, or the request is no longer open. */
export async function asideInSlot(slot: Slot, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = () => resolve()
  signal.addEventListener('abort', done, { once: true })
  slot.put(() => <Aside onTake={done} />, { keys: 'shared' })
  await promise
  signal.removeEventListener('abort', done)
  slot.put(undefined)
}

function Aside({ onTake }: { onTake: () => void }) {
  useInput((input, key) => {
    if (input === 'a' && !key.ctrl && !key.meta) onTake()
  })
  return (
    <Text color="yellow" wrap="truncate-end">
      {'  a: answer it'}
    </Text>
  )
}
