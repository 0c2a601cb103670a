/** Prints the end of a followed instance: the output, a closing line and the commands to run next; with --json or --jsonl a document. */

import { stripVTControlCharacters } from 'node:util'
import { ResolveError } from '../../core/errors.ts'
import { cleanLine, cleanText } from '../../core/view/clean.ts'
import { errorText, settingHint } from '../../core/view/error-text.ts'
import { spendingText } from '../../core/view/spending.ts'
import { queueSentence, standingWord } from '../../core/view/status-words.ts'
import { isPauseWord, pendingRequests, type Story } from '../../core/view/story.ts'
import { durationText } from '../../core/view/time-words.ts'
import { CommandError } from '../output/command-error.ts'
import { type ClosingLine, type InstanceDocument, instanceDocument, type LeftReason } from '../output/documents.ts'
import { EXIT } from '../output/exit-codes.ts'
import { workflowCommand } from '../output/github-commands.ts'
import { isAtTerminal, nextCommands } from '../output/next-steps.ts'
import type { Output } from '../output/output.ts'
import { isGithub } from '../output/surroundings.ts'
import type { FollowEnd } from './follow.ts'
import { appendSummary } from './github-summary.ts'

/** Prints the end and returns the exit code. If following ended with an error, throws it, so that its own document is printed. */
export async function finish(
  output: Output,
  end: FollowEnd,
  warnings: readonly string[] = [],
  more: () => Promise<Record<string, unknown>> = async () => ({}),
): Promise<number> {
  const { story, reason, exitCode } = end
  if (isGithub()) {
    const trouble = appendSummary(story)
    if (trouble !== undefined) output.say(trouble)
  }
  const errors = end.error instanceof ResolveError ? end.error.errors : []
  if (output.jsonl) {
    const instance = instanceDocument(story, exitCode, [...errors, ...warnings])
    const closing: ClosingLine = reason === 'done' ? { type: 'done', instance } : { type: 'left', reason, instance }
    if (end.error instanceof CommandError) output.say(output.paint('red', `✗ ${end.error.message}`))
    annotate(output, end)
    await output.raw(`${JSON.stringify(closing)}\n`)
    return exitCode
  }
  if (end.error !== undefined) {
    const next = nextCommands(story)
    throw end.error instanceof ResolveError ? new CommandError(end.error, { next }, exitCode) : end.error
  }
  if (output.json) {
    const document = instanceDocument(story, exitCode, warnings)
    // Its own fields come first and win.
    await output.document({ ...document, ...(await more()), ...document })
    if (output.quiet) annotate(output, end)
    else printClosing(output, end)
    return exitCode
  }
  if (story.output !== null && (reason === 'done' || reason === 'paused') && !isPauseWord(story.output))
    await output.result(story.output)
  printClosing(output, end)
  for (const warning of warnings) output.say(output.paint('yellow', `  ${warning}`))
  const spent = reason === 'done' || reason === 'paused' ? spendingText(story) : undefined
  if (spent !== undefined) output.note(`  ${output.paint('dim', 'LLM sessions:')} ${spent}`)
  for (const line of artifactLines(output, end)) output.note(line)
  for (const line of whatNext(output, end)) output.say(line)
  return exitCode
}

/** Prints the outcome on one line; in GitHub Actions one that ends the step becomes an annotation of the job. */
function printClosing(output: Output, end: FollowEnd): void {
  if (!annotate(output, end)) output.say(closingLine(output, end.story, end.reason))
}

/** In GitHub Actions, makes an annotation of every exit code but 0 and those of signals: a job that is cancelled says so itself. */
export function annotate(output: Output, { story, reason, exitCode }: FollowEnd): boolean {
  if (!isGithub() || SILENT.includes(exitCode)) return false
  const isOpen = exitCode === EXIT.inputRequired || exitCode === EXIT.paused
  const lines = [closingLine(output, story, reason), ...(isOpen ? nextCommands(story).map(cleanLine) : [])]
  const title = `${story.creation.resolver.name} ${standingWord(story).word}`
  const text = stripVTControlCharacters(lines.join('\n'))
  output.command(workflowCommand(isOpen ? 'warning' : 'error', text, { title }))
  return true
}

const SILENT: readonly number[] = [EXIT.ok, EXIT.hangup, EXIT.interrupted, EXIT.terminated]

const ARTIFACTS_SHOWN = 10

/** The artifacts, on a terminal only: in a pipe each was printed when it arrived. */
function* artifactLines(output: Output, { story, reason }: FollowEnd): Generator<string> {
  if (reason !== 'done' || process.stderr.isTTY !== true || story.artifacts.length === 0) return
  const { artifacts } = story
  for (const { kind, value } of artifacts.slice(-ARTIFACTS_SHOWN))
    yield `  ${output.paint('dim', `artifact ${cleanLine(kind)}:`)} ${cleanLine(value)}`
  const more = artifacts.length - ARTIFACTS_SHOWN
  if (more > 0) yield output.paint('dim', `  … and ${more} more`)
}

function closingLine(output: Output, story: Story, reason: FollowEnd['reason']): string {
  const { shape, word, color } = standingWord(story)
  const { instance_id, resolver } = story.creation
  const who = `${resolver.name} ${instance_id}`
  if (reason !== 'done' && reason !== 'paused')
    return output.paint('yellow', `${leftText(reason)} ${who} is ${word}.${waited(story)}`)
  const took =
    story.endedAt === null
      ? ''
      : ` in ${durationText(Date.parse(story.endedAt) - Date.parse(story.creation.created_at))}`
  const why = story.error === null ? '' : `: ${cleanText(errorText(story.error))} (${story.error.code})`
  return output.paint(color, `${shape} ${who} ${word}${took}${why}`)
}

/** A timeout counts the time in the queue. */
function waited({ queue }: Story): string {
  return queue == null ? '' : ` ${queueSentence(queue)}`
}

function leftText(reason: LeftReason): string {
  switch (reason) {
    case 'timeout':
      return 'The timeout has passed; the instance continues:'
    case 'input_required':
    case 'answer_invalid':
      return 'A question is open:'
    case 'no_host':
      return 'No host runs the instance any more:'
    default:
      return 'Left; the instance continues:'
  }
}

function* whatNext(output: Output, { story, reason }: FollowEnd): Generator<string> {
  if (reason === 'done' && output.quiet) return
  // A completed run needs no next commands in a pipe.
  if (reason === 'done' && story.status === 'completed' && process.stderr.isTTY !== true) return
  if (reason === 'input_required') {
    for (const request of pendingRequests(story)) yield `  ${cleanText(request.prompt)}`
  }
  const hint = settingHint(story.error)
  if (hint !== undefined) yield `  ${hint}`
  for (const command of nextCommands(story, isAtTerminal())) yield `  ${output.paint('cyan', command)}`
}

/** The document for commands that only read an instance. */
export function documentOf(story: Story): InstanceDocument {
  return instanceDocument(story, EXIT.ok)
}
