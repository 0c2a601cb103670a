/** The page of `instance explain` for a person: cleaned, and painted for stdout. */
import type { Status } from '../../core/protocol/status.ts'
import { cleanLine, cleanText } from '../../core/view/clean.ts'
import { STATUS_WORDS } from '../../core/view/status-words.ts'
import { agoText } from '../../core/view/time-words.ts'
import type { Output } from '../output/output.ts'
import type { Explanation } from './explain.ts'

export function explainLines(output: Output, told: Explanation, now: number): string[] {
  const out = process.stdout
  const { shape, word, color } = STATUS_WORDS[told.status as Status]
  const { failing_event: failing, error } = told
  const title = (text: string) => ['', output.paint('bold', text, out)]
  const lines = [
    output.paint(color, `${shape} ${word}  ${cleanLine(told.resolver)} ${told.instance_id}`, out),
    `  ${cleanText(told.why).replaceAll('\n', '\n  ')}`,
  ]
  if (error !== null) lines.push(`  code      ${cleanLine(error.code)}`)
  if (told.phase !== null) lines.push(`  phase     ${cleanLine(told.phase)}`)
  if (failing !== null) lines.push(`  event     ${failing.seq} ${cleanLine(failing.event_type)}, ${failing.timestamp}`)
  if (told.worker_end !== null) lines.push(`  worker    ${cleanLine(told.worker_end)}`)
  if (told.rejected.count > 0) {
    const reasons = told.rejected.last.map(({ reason, detail }) => (detail === null ? reason : `${reason}: ${detail}`))
    lines.push(...title(`${told.rejected.count} of its lines were not forwarded`))
    lines.push(...[...new Set(reasons)].map((reason) => `  ${cleanLine(reason)}`))
  }
  if (told.questions.length > 0) lines.push(...title('Waiting for an answer'))
  for (const { request_id, prompt, asked_at } of told.questions)
    lines.push(`  ${cleanLine(request_id)}, asked ${agoText(asked_at, now)}: ${cleanLine(prompt)}`)
  if (told.stderr.length > 0) lines.push(...title('Last lines of its stderr'))
  lines.push(...told.stderr.map((line) => `  ${cleanLine(line)}`))
  if (told.stderr_needs !== null) lines.push('', `(stderr needs the scope ${told.stderr_needs})`)
  lines.push(...title('Next'), ...told.next.map((command) => `  ${output.paint('cyan', command, out)}`))
  return lines
}
