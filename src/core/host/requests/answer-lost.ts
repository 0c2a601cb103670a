/** Accepts an answer for an instance whose worker was lost: the question stayed open, and the resumed worker gets the answer (R58). */
import type { Payload } from '../../protocol/form.ts'
import type { Actor } from '../../protocol/instance.ts'
import { isLost } from '../../view/lost-worker.ts'
import { SealedPayloads } from '../launch/sealed-payloads.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { acceptAnswer } from './accept.ts'

/** On disk when this returns; false where the instance has no lost worker. Throws as {@link acceptAnswer}. */
export function answerLost(
  { home, ledger }: { home: string; ledger: Ledger },
  requestId: string,
  payload: Payload,
  actor: Actor,
): boolean {
  const reason = ledger.story.history.at(-1)?.reason
  if (!isLost({ status: ledger.status, reason })) return false
  // The delivery to the resumed worker writes the file.
  acceptAnswer(
    { ledger, files: { write: () => {} }, sealed: new SealedPayloads(home, ledger) },
    requestId,
    payload,
    actor,
  )
  return true
}
