/** How a followed instance is told at its end: the output once, a closing line, what to run next; or the document. */
import { ResolveError } from '../core/errors.ts'
import { pendingRequests, type Story } from '../core/view/story.ts'
import { cleanText } from './clean.ts'
import { CommandError } from './command-error.ts'
import { type ClosingLine, type InstanceDocument, instanceDocument, type LeftReason } from './documents.ts'
import { durationText } from './duration.ts'
import { EXIT } from './exit-codes.ts'
import type { FollowEnd } from './follow.ts'
import { nextCommands } from './next-steps.ts'
import type { Output } from './output.ts'
import { STATUS_WORDS } from './status-words.ts'

/** Tells the end and returns the exit code. Throws the error it was left for, where the document of that error says more. */
export async function finish(output: Output, end: FollowEnd): Promise<number> {
  const { story, reason, exitCode } = end
  const errors = end.error instanceof ResolveError ? end.error.errors : []
  if (output.jsonl) {
    const instance = instanceDocument(story, exitCode, errors)
    const closing: ClosingLine = reason === 'done' ? { type: 'done', instance } : { type: 'left', reason, instance }
    await output.raw(`${JSON.stringify(closing)}\n`)
    return exitCode
  }
  if (end.error !== undefined) {
    const next = nextCommands(story)
    throw end.error instanceof ResolveError ? new CommandError(end.error, { next }, exitCode) : end.error
  }
  if (output.json) {
    await output.document(instanceDocument(story, exitCode))
    output.note(closingLine(output, story, reason))
    return exitCode
  }
  if (story.output !== null && (reason === 'done' || reason === 'paused')) await output.result(story.output)
  output.say(closingLine(output, story, reason))
  for (const line of whatNext(output, end)) output.say(line)
  return exitCode
}

function closingLine(output: Output, story: Story, reason: FollowEnd['reason']): string {
  const { shape, word, color } = STATUS_WORDS[story.status]
  const { instance_id, resolver } = story.birth
  const who = `${resolver.name} ${instance_id}`
  if (reason !== 'done' && reason !== 'paused') return output.paint('yellow', `${leftText(reason)} ${who} is ${word}.`)
  const took =
    story.endedAt === null ? '' : ` in ${durationText(Date.parse(story.endedAt) - Date.parse(story.birth.created_at))}`
  const why = story.error === null ? '' : `: ${cleanText(story.error.detail)} (${story.error.code})`
  return output.paint(color, `${shape} ${who} ${word}${took}${why}`)
}

function leftText(reason: LeftReason): string {
  switch (reason) {
    case 'timeout':
      return 'The time given has passed, and the instance goes on without this command:'
    case 'input_required':
    case 'answer_invalid':
      return 'A question is open:'
    case 'no_host':
      return 'Lost the instance on the way:'
    default:
      return 'Left; the instance goes on:'
  }
}

function* whatNext(output: Output, { story, reason }: FollowEnd): Generator<string> {
  if (reason === 'done' && (story.status === 'completed' || output.quiet)) return
  if (reason === 'input_required') {
    for (const request of pendingRequests(story)) yield `  ${cleanText(request.prompt)}`
  }
  for (const command of nextCommands(story)) yield `  ${output.paint('cyan', command)}`
}

/** The document of an instance that is only looked at. */
export function documentOf(story: Story): InstanceDocument {
  return instanceDocument(story, EXIT.ok)
}
