/**
 * Publishes an accepted answer or message: an event for readers, and a file in `.resolve/` for the resolver. Both are derived
 * from the private line in the journal, so the file needs no sync: the next host writes it again until the resolver has taken
 * the answer.
 */
import { isDiskFull } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { textsIn } from '../../forms/secret-fields.ts'
import { COORDINATION_FILE_MAX_BYTES } from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import { messageFile, responseFile } from '../../protocol/coordination.ts'
import type { Payload } from '../../protocol/form.ts'
import type { Message } from '../../protocol/instance.ts'
import type { AnswerIntent, MessageIntent } from '../../protocol/journal.ts'
import type { CoordinationDirectory } from '../../worker/worker.ts'
import type { Kept, Ledger, News } from '../ledger/ledger.ts'

export type Sent = AnswerIntent | MessageIntent
type Named = Pick<AnswerIntent, 'kind' | 'request_id'> | Pick<MessageIntent, 'kind' | 'number'>

/** The event for readers; it does not contain the payload. */
export function eventOf(sent: Omit<AnswerIntent, 'payload'> | Omit<MessageIntent, 'payload'>): News {
  const { actor, via } = sent
  if (sent.kind === 'answer') {
    return { type: 'platform.input.answered', data: { request_id: sent.request_id, actor, via } }
  }
  const { number, message_type } = sent
  return { type: 'platform.message.accepted', data: { number, message_type, actor, via } }
}

/** Whether its event is in the journal. It is missing only after a torn append, or in the layout of an earlier version. */
export function isRecorded({ story }: Ledger, sent: Named): boolean {
  return sent.kind === 'answer'
    ? !story.requests.some(({ id, status }) => id === sent.request_id && status === 'pending')
    : story.messages.some(({ number }) => number === sent.number)
}

/** The files that this host wrote for the resolver. */
export class SentFiles {
  readonly #coordination: CoordinationDirectory
  readonly #written = new Set<string>()

  constructor(coordination: CoordinationDirectory) {
    this.#coordination = coordination
  }

  /** Writes the file of an answer or message, once. Throws the file system's error. */
  write(sent: Sent): void {
    const { path, content } = fileOf(sent)
    if (this.#written.has(path)) return
    this.#coordination.put(path, JSON.stringify(content), { mode: 0o600 })
    this.#written.add(path)
    failpoint(`${sent.kind}.published`)
  }
}

/** Removes the values of secret fields from the file of an answer or message: for the end of a run (R43, R55). */
export function scrubSent(coordination: CoordinationDirectory, kept: Kept, openPayload: () => Payload): void {
  if (kept.sealed === undefined) return
  const path = pathOf(kept)
  try {
    if (coordination.read(path, COORDINATION_FILE_MAX_BYTES * 2) === undefined) return
    const { content } = fileOf({ ...kept, payload: openPayload() })
    coordination.put(path, JSON.stringify(content), { mode: 0o600, durable: true })
  } catch (error) {
    if (isDiskFull(error)) throw error
    // Where it cannot be rewritten, the file is removed.
    coordination.remove(path)
  }
}

/**
 * The secret texts in the file of an answer or message, for a host that cannot open what the journal has. The resolver can write to the
 * file: a broken one has none.
 */
export function textsInSent(coordination: CoordinationDirectory, kept: Kept, openPayload: () => Payload): string[] {
  if (kept.sealed === undefined) return []
  try {
    const bytes = coordination.read(pathOf(kept), COORDINATION_FILE_MAX_BYTES * 2)
    const content: unknown = bytes === undefined ? undefined : JSON.parse(bytes.toString('utf8'))
    const sent = kept.kind === 'message' && isObject(content) ? content['payload'] : content
    if (!isObject(sent)) return []
    const open = openPayload()
    return textsIn(Object.fromEntries(Object.entries(sent).filter(([id]) => !Object.hasOwn(open, id))))
  } catch {
    return []
  }
}

function pathOf(sent: Named): string {
  return sent.kind === 'answer' ? responseFile(sent.request_id) : messageFile(sent.number)
}

function fileOf(sent: Sent): { path: string; content: unknown } {
  const path = pathOf(sent)
  if (sent.kind === 'answer') return { path, content: sent.payload }
  const { number, message_type, payload } = sent
  const content: Message = { number, message_type, payload }
  return { path, content }
}
