/** Formats `instance show` for a terminal. */

import type { JournalEvent } from '../../core/protocol/journal.ts'
import { cleanLine, cleanText } from '../../core/view/clean.ts'
import { errorText } from '../../core/view/error-text.ts'
import { budgetText, spendingText } from '../../core/view/spending.ts'
import { queueSentence, reasonText, STATUS_WORDS, standingWord } from '../../core/view/status-words.ts'
import { isPauseWord, pendingRequests, REQUESTS_WITHDRAWN, type Story } from '../../core/view/story.ts'
import { localText } from '../../core/view/time-words.ts'
import { isAtTerminal, nextBesideShow } from '../output/next-steps.ts'
import type { Output } from '../output/output.ts'
import { eventLine } from '../view/event-lines.ts'
import { labelText } from './label-text.ts'

export function showLines(output: Output, story: Story, events: readonly JournalEvent[]): string[] {
  const out = process.stdout
  const { creation } = story
  const { shape, word, color } = standingWord(story)
  const title = (text: string) => ['', output.paint('bold', text, out)]
  const lines = [
    output.paint(color, `${shape} ${word}`, out),
    `  instance  ${creation.instance_id}${creation.name === null ? '' : `  ${cleanLine(creation.name)}`}`,
    `  resolver  ${cleanLine(creation.resolver.name)} ${creation.resolver.version}`,
    `  input     ${cleanLine(JSON.stringify(creation.input))}`,
  ]
  const labels = labelText(creation.labels ?? {})
  if (labels !== '') lines.push(`  labels    ${labels}`)
  if (creation.parent_id !== null) lines.push(`  repeats   ${cleanLine(creation.parent_id)}`)
  const from = creation.schedule
  if (from !== undefined) lines.push(`  schedule  ${cleanLine(from.name)}, due ${from.due_at}`)
  const budget = budgetText(creation)
  if (budget !== undefined) lines.push(`  budget    ${budget} for LLM sessions`)
  for (const { url, commit } of story.bundles ?? [])
    lines.push(`  bundle    ${cleanLine(url)} at ${cleanLine(commit.slice(0, 12))}`)
  const spent = spendingText(story)
  if (spent !== undefined) lines.push(`  sessions  ${spent}`)
  if (story.queue != null) lines.push(`  queue     ${queueSentence(story.queue)}`)
  if (story.phase !== null) lines.push(`  phase     ${cleanLine(story.phase)}`)
  if (story.output !== null && !isPauseWord(story.output)) lines.push(`  output    ${cleanText(story.output)}`)
  if (story.error !== null)
    lines.push(`  error     ${cleanText(errorText(story.error))} (${cleanLine(story.error.code)})`)

  lines.push(...title('History'))
  // The platform withdraws questions in the same moment in which it pauses or ends the run.
  for (const change of story.history.filter(({ reason }) => reason !== REQUESTS_WITHDRAWN)) {
    const reason = change.reason === null ? '' : ` (${cleanLine(reasonText(change.reason))})`
    lines.push(`  ${localText(change.at)}  ${STATUS_WORDS[change.status].word}${reason}`)
  }
  const pending = pendingRequests(story)
  if (pending.length > 0) lines.push(...title('Waiting for an answer'))
  for (const request of pending) lines.push(`  ${request.id}: ${cleanLine(request.prompt)}`)
  if (story.artifacts.length > 0) lines.push(...title('Artifacts'))
  for (const artifact of story.artifacts) lines.push(`  ${cleanLine(artifact.kind)}: ${cleanLine(artifact.value)}`)
  if (events.length > 0) lines.push(...title('Last events'))
  for (const { seq, event } of events) lines.push(eventLine(seq, event))
  const next = nextBesideShow(story, isAtTerminal())
  if (next.length > 0) lines.push(...title('Next'))
  for (const command of next) lines.push(`  ${output.paint('cyan', command, out)}`)
  return lines
}
