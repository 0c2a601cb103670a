/**
 * Answers what a worker asks at its git server: to promote a branch upstream (docs/git.md). {@link file://./instance-git.ts} calls it for
 * each notice of the server; the worker waits for the answer.
 */
import type { Ledger } from '../ledger/ledger.ts'

export interface AskedPromotion {
  /** The name of the repository; one of the instance's own. */
  repo: string
  /** The body of the request; untrusted. */
  request: Readonly<Record<string, unknown>>
}

export interface PromotionParts {
  ledger: Ledger
  /** The directory with the bare repositories of the host, which hold all that was pushed before the request. */
  git: string
  write: (line: () => void) => Promise<void>
  /** Aborted when this host releases the instance: the next host is told of the request again. */
  signal: AbortSignal
}

/** `status` and `body` become the answer of the git server. */
export async function answerPromotion(
  _asked: AskedPromotion,
  _parts: PromotionParts,
): Promise<{ status: number; body: Record<string, unknown> }> {
  return { status: 409, body: { success: false, message: 'Promotion was not requested.' } }
}
