/** Writes the step summary of a GitHub Actions job: the outcome of a run as Markdown. finish.ts appends it to $GITHUB_STEP_SUMMARY. */

import { appendFileSync } from 'node:fs'
import { isTerminal } from '../../core/protocol/status.ts'
import { cleanLine, cleanText } from '../../core/view/clean.ts'
import { errorText } from '../../core/view/error-text.ts'
import { spendingText } from '../../core/view/spending.ts'
import { STATUS_WORDS } from '../../core/view/status-words.ts'
import { pendingRequests, type Story, type StoryPhase } from '../../core/view/story.ts'
import { durationText } from '../../core/view/time-words.ts'
import { answerCommand, nextCommands } from '../output/next-steps.ts'

const PHASES_MAX = 50
const ARTIFACTS_MAX = 50
const TEXT_MAX_CHARS = 4_000

/** Returns why the summary could not be written; undefined on success, or if GITHUB_STEP_SUMMARY is not set. */
export function appendSummary(story: Story, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const file = env['GITHUB_STEP_SUMMARY']
  if (file === undefined || file === '') return undefined
  try {
    appendFileSync(file, `${summaryOf(story)}\n`)
    return undefined
  } catch (error) {
    return `Can't write the step summary: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Outcome, error, phases with their durations, artifacts, open questions with the command that answers each. */
export function summaryOf(story: Story, now = Date.now()): string {
  const { shape, word } = STATUS_WORDS[story.status]
  const { resolver, instance_id, name, created_at } = story.creation
  const took = story.endedAt === null ? '' : ` in ${durationText(Date.parse(story.endedAt) - Date.parse(created_at))}`
  const blocks = [`### ${shape} ${escaped(name ?? resolver.name)} ${word}${took}`]
  blocks.push(`Instance \`${instance_id}\` of ${escaped(resolver.name)} ${escaped(resolver.version)}`)
  if (story.error !== null) blocks.push(`**${escaped(story.error.code)}**: ${escapedLines(errorText(story.error))}`)
  if (story.output !== null && story.output !== '') blocks.push(`> ${escapedLines(story.output, '> ')}`)
  const spent = spendingText(story)
  if (spent !== undefined) blocks.push(`LLM sessions: ${escaped(spent)}`)
  if (story.phases.length > 0) blocks.push(phaseTable(story, now))
  if (story.artifacts.length > 0) blocks.push(artifactList(story))
  for (const request of pendingRequests(story)) {
    blocks.push(`◆ Waiting for an answer to **${escaped(request.id)}**: ${escaped(request.prompt)}`)
    blocks.push(fenced(answerCommand(instance_id, request)))
  }
  if (story.status === 'paused' || !isTerminal(story.status)) {
    const next = nextCommands(story).filter((command) => !command.includes(' answer '))
    if (next.length > 0) blocks.push(fenced(next.join('\n')))
  }
  return `${blocks.join('\n\n')}\n`
}

/** The last phase of a run that goes on is not over: it took the time so far. */
function phaseTable(story: Story, now: number): string {
  const isOver = story.endedAt !== null || story.status === 'paused'
  const end = Date.parse(story.endedAt ?? story.lastEventAt)
  const skipped = Math.max(0, story.phases.length - PHASES_MAX)
  const rows = story.phases.slice(skipped).map(({ name, at }: StoryPhase, index) => {
    const next = story.phases[skipped + index + 1]
    const until = next === undefined ? (isOver ? end : Math.max(end, now)) : Date.parse(next.at)
    const soFar = next === undefined && !isOver ? ' so far' : ''
    return `| ${escaped(name)} | ${durationText(until - Date.parse(at))}${soFar} |`
  })
  const before = skipped === 0 ? [] : [`| … ${skipped} before | |`]
  return ['| phase | took |', '|---|---|', ...before, ...rows].join('\n')
}

function artifactList({ artifacts }: Story): string {
  const shown = artifacts.slice(0, ARTIFACTS_MAX)
  const rows = shown.map(({ kind, value }) => `- ${escaped(kind)}: ${escaped(value)}`)
  const more = artifacts.length - shown.length
  return ['**Artifacts**', '', ...rows, ...(more > 0 ? [`- … and ${more} more`] : [])].join('\n')
}

/** Escapes text of a resolver: it must not form links, images, markup or mentions. */
function escaped(text: string): string {
  return cleanLine(text)
    .slice(0, TEXT_MAX_CHARS)
    .replace(/[!-/:-@[-`{-~]/g, '\\$&')
}

function escapedLines(text: string, begin = ''): string {
  return cleanText(text).slice(0, TEXT_MAX_CHARS).split('\n').map(escaped).join(`\\\n${begin}`)
}

/** A code block whose fence is longer than any run of backticks in it. */
function fenced(commands: string): string {
  const longest = Math.max(2, ...[...commands.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}sh\n${cleanText(commands)}\n${fence}`
}
