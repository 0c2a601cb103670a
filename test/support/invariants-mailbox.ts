/** I7 of the mailbox: what was accepted is kept once, and lies before the resolver as it was accepted (reliability, Invariants). */
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Left, type Report, readJson } from './invariants.ts'

/** I7: one answer a request and messages 1, 2, …, each with the file that says what was accepted. */
export function checkMailbox({ paths, lines, hasEnded }: Left, report: Report): void {
  const kept = (stem: string) =>
    readJson(join(paths.mailbox, `${stem}.json`)) ?? readJson(join(paths.mailbox, `${stem}.sent.json`))
  const compare = (what: string, expected: unknown, file: string) => {
    const found = readJson(join(paths.project, '.resolve', file))
    if (found === undefined && !hasEnded) return
    if (!isDeepStrictEqual(found, expected)) report('I7', `${file} is not ${what}`)
  }
  let messages = 0
  for (const { seq, event } of lines) {
    const { request_id: rid, number } = event.data
    if (event.event_type === 'platform.input.answered') {
      const intent = kept(`answer-${String(rid)}`)
      if (intent === undefined) report('I7', `line ${seq} answers ${String(rid)}, and no answer is kept`)
      else compare('the answer that was accepted', intent['payload'], `input-requests/${String(rid)}.response.json`)
    }
    if (event.event_type !== 'platform.message.accepted') continue
    messages += 1
    if (number !== messages) report('I7', `line ${seq} has message ${String(number)} where ${messages} is next`)
    const intent = kept(`message-${String(number)}`)
    if (intent === undefined) report('I7', `line ${seq} has message ${String(number)}, and none is kept`)
    else {
      const { message_type, payload } = intent
      compare(
        'the message that was accepted',
        { number, message_type, payload },
        `messages/${String(number).padStart(3, '0')}.json`,
      )
    }
  }
}
