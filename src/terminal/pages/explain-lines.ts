/** Formats the explanation of `instance explain` for a terminal: cleaned and coloured. */
import type { Status } from '../../core/protocol/status.ts'
import { cleanLine, cleanText } from '../../core/view/clean.ts'
import { standingWord } from '../../core/view/status-words.ts'
import { agoText, localText } from '../../core/view/time-words.ts'
import type { Output } from '../output/output.ts'
import type { Explanation } from './explain.ts'

export function explainLines(output: Output, explanation: Explanation, now: number): string[] {
  const out = process.stdout
  const { shape, word, color } = standingWord({ status: explanation.status as Status, queue: explanation.queue })
  const { failing_event: failing, error } = explanation
  const title = (text: string) => ['', output.paint('bold', text, out)]
  const lines = [
    output.paint(color, `${shape} ${word}  ${cleanLine(explanation.resolver)} ${explanation.instance_id}`, out),
    `  ${cleanText(explanation.why).replaceAll('\n', '\n  ')}`,
  ]
  if (error !== null) lines.push(`  code      ${cleanLine(error.code)}`)
  if (explanation.phase !== null) lines.push(`  phase     ${cleanLine(explanation.phase)}`)
  if (failing !== null)
    lines.push(`  event     ${failing.seq} ${cleanLine(failing.event_type)}, ${localText(failing.timestamp)}`)
  if (explanation.worker_end !== null) lines.push(`  worker    ${cleanLine(explanation.worker_end)}`)
  if (explanation.rejected.count > 0) {
    const reasons = explanation.rejected.last.map(({ reason, detail }) =>
      detail === null ? reason : `${reason}: ${detail}`,
    )
    lines.push(...title(`${explanation.rejected.count} event lines were rejected`))
    lines.push(...[...new Set(reasons)].map((reason) => `  ${cleanLine(reason)}`))
  }
  if (explanation.denied.length > 0) lines.push(...title('Refused connections'))
  lines.push(...explanation.denied.map(({ told }) => `  ${cleanLine(told)}`))
  if (explanation.holders.length > 0) lines.push(...title('Running now'))
  for (const { instance_id, resolver, status } of explanation.holders) {
    const waits = status === 'awaiting_input' ? ' and waits for an answer' : ''
    lines.push(`  ${instance_id} (${cleanLine(resolver)}) has a place${waits}`)
  }
  if (explanation.questions.length > 0) lines.push(...title('Waiting for an answer'))
  for (const { request_id, prompt, asked_at } of explanation.questions)
    lines.push(`  ${cleanLine(request_id)}, asked ${agoText(asked_at, now)}: ${cleanLine(prompt)}`)
  if (explanation.stderr.length > 0) lines.push(...title('Last lines of its stderr'))
  lines.push(...explanation.stderr.map((line) => `  ${cleanLine(line)}`))
  if (explanation.stderr_needs !== null) lines.push('', `(stderr needs the scope ${explanation.stderr_needs})`)
  lines.push(...title('Next'), ...explanation.next.map((command) => `  ${output.paint('cyan', command, out)}`))
  return lines
}
