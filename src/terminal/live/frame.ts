/** The lines of the live frame at the bottom of the terminal during a run. Pure: time and size are parameters. */
import type { Connection } from '../../core/index.ts'
import { isTerminal } from '../../core/protocol/status.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { STATUS_WORDS, type StatusWord, standingWord } from '../../core/view/status-words.ts'
import { pendingRequests, type Story } from '../../core/view/story.ts'
import { ageText, durationText } from '../../core/view/time-words.ts'
import { lostText } from '../output/connection.ts'
import { cut, widthOf } from '../output/width.ts'

export interface FrameState {
  story: Story | undefined
  /** Milliseconds since 1970. */
  now: number
  /** How many times Ctrl-C was pressed. */
  interrupts: number
  /** `watch`: Ctrl-C leaves. `run`: a second Ctrl-C stops the instance. */
  watching: boolean
  /** Whether keys can be read: stdin is a terminal. */
  interactive: boolean
  rows: number
  columns: number
  /** The state of the connection to the server, if one was reported. */
  connection?: Connection | undefined
  /** The nodes of a pipeline that runs. */
  nodes?: readonly FrameLine[]
}

export interface FrameLine {
  text: string
  color?: StatusWord['color']
  dim?: boolean
  /** Drawn over the whole width, as a bar. */
  bar?: boolean
}

/**
 * The lines, most important first: a low terminal shows only the first ones. There are fewer than `rows - 1` lines, so that Ink
 * never clears the screen, and none is wider than `columns`.
 */
export function frameLines(state: FrameState): FrameLine[] {
  const { story, columns } = state
  if (story === undefined) return fitted([{ text: '…' }], state)
  const lines: FrameLine[] = [statusLine(story, state)]
  // First line: the lines below show the state before the connection was lost.
  if (state.connection?.state === 'lost') {
    lines.unshift({ text: lostText(state.connection, state.now, columns), color: 'yellow' })
  }
  const hasBar = state.interrupts > 0 && !state.watching
  if (hasBar) lines.push(barLine(state))
  const [request, ...others] = pendingRequests(story)
  if (request !== undefined) {
    const more = others.length === 0 ? '' : ` (and ${others.length} more)`
    lines.push({
      text: `  ${cut(cleanLine(request.prompt), columns - 2 - widthOf(more))}${more}`,
      color: STATUS_WORDS.awaiting_input.color,
    })
  }
  for (const line of setupLines(story, columns - 2)) lines.push({ text: `  ${line}` })
  const progress = progressText(story, columns - 2)
  if (progress !== '') lines.push({ text: `  ${progress}` })
  if (!isTerminal(story.status)) lines.push(...(state.nodes ?? []))
  const artifact = story.artifacts.at(-1)
  if (artifact !== undefined) {
    const count = story.artifacts.length === 1 ? 'artifact' : `${story.artifacts.length} artifacts, the last`
    lines.push({ text: `  ${count} ${cleanLine(artifact.kind)}: ${cleanLine(artifact.value)}`, dim: true })
  }
  if (!hasBar && !isTerminal(story.status)) lines.push({ text: `  ${keyText(state)}`, dim: true })
  return fitted(lines, state)
}

/** The maximum number of frame lines in a terminal with this many rows. */
export function frameRows(rows: number): number {
  return Math.max(1, rows - 2)
}

function fitted(lines: readonly FrameLine[], { rows, columns }: FrameState): FrameLine[] {
  return lines.slice(0, frameRows(rows)).map((line) => ({ ...line, text: cut(line.text, columns) }))
}

function statusLine(story: Story, { now, columns }: FrameState): FrameLine {
  const { shape, word, color } = standingWord(story)
  const { resolver, instance_id, name, created_at } = story.creation
  const age = ageText(story.lastEventAt, now)
  const text = packed(
    [
      { text: `${shape} ${word}`, weight: 5 },
      { text: cleanLine(name ?? resolver.name), weight: 2 },
      { text: instance_id, weight: 1 },
      { text: durationText(now - Date.parse(created_at)), weight: 4 },
      { text: age === 'now' || age === '-' ? 'last event now' : `last event ${age} ago`, weight: 3 },
    ],
    columns,
  )
  return { text, color }
}

/** The step of a setup that runs, and its last line. */
function* setupLines({ setup, status }: Story, columns: number): Generator<string> {
  if (setup?.state !== 'running' || isTerminal(status)) return
  const { step, total, description, output, fraction = null } = setup
  const place = step === 0 ? 'setup' : `setup ${step}/${total}`
  yield packed(
    [
      { text: place, weight: 3 },
      { text: cleanLine(description ?? ''), weight: 2, shrinks: true },
      ...(fraction === null
        ? []
        : [{ text: `${barText(fraction, columns < 60 ? 10 : 20)} ${Math.round(fraction * 100)}%`, weight: 1 }]),
    ],
    columns,
  )
  if (output !== null) yield `  ${cut(cleanLine(output), columns - 2)}`
}

function progressText({ phase, progress }: Story, columns: number): string {
  const parts: Part[] = []
  if (phase !== null) parts.push({ text: cut(cleanLine(phase), Math.max(8, columns >> 1)), weight: 2 })
  if (progress !== null) {
    if (progress.fraction !== null) {
      parts.push({ text: barText(progress.fraction, columns < 60 ? 10 : 20), weight: 1 })
      parts.push({ text: `${Math.round(progress.fraction * 100)}%`, weight: 4 })
    }
    const milestone = cleanLine(progress.label ?? progress.milestone)
    if (milestone !== '') parts.push({ text: milestone, weight: 3, shrinks: true })
  }
  return packed(parts, columns)
}

function barText(fraction: number, columns: number): string {
  const full = Math.round(fraction * columns)
  return `${'█'.repeat(full)}${'░'.repeat(columns - full)}`
}

function keyText(state: FrameState): string {
  const { watching, interactive, columns } = state
  if (!interactive) return watching ? 'Ctrl-C: leave' : 'Ctrl-C: leave it running'
  const pause = mayPause(state.story) ? 'p: pause   ' : ''
  if (watching) return `${pause}d or Ctrl-C: leave`
  return columns < 60 ? `${pause}d: leave it   Ctrl-C: stop…` : `d: leave it running   ${pause}Ctrl-C: stop…`
}

/** Whether the key p means something: the resolver can be paused, and its run is under way. */
export function mayPause(story: Story | undefined): boolean {
  if (story === undefined) return false
  const { manifest }: { manifest?: { supports_resume?: boolean } } = story.creation.resolver
  if (manifest?.supports_resume !== true) return false
  return story.status === 'running' || story.status === 'awaiting_input'
}

/** Shown after the first Ctrl-C: what the next one does. */
function barLine({ interrupts, columns }: FrameState): FrameLine {
  const long =
    interrupts === 1
      ? 'Not stopped yet.  Ctrl-C: stop it   d: leave it   any other key: continue'
      : 'Stopping…  Ctrl-C again: force   d: leave it'
  const short = interrupts === 1 ? 'Not stopped yet. Ctrl-C: stop it' : 'Stopping…  Ctrl-C again: force'
  const text = interrupts > 2 ? 'Stopping by force…' : widthOf(long) + 1 <= columns ? long : short
  return { text: ` ${text}`, color: 'yellow', bar: true }
}

interface Part {
  text: string
  /** If a line is too long, parts with the lowest weight are left out first. */
  weight: number
  /** Cut to the remaining width before any part is left out. */
  shrinks?: boolean
}

const GAP = '  '
const SHRUNK_MIN = 8

/** Joins parts with gaps in at most `columns`: first cuts the part that shrinks, then leaves out parts by weight. */
function packed(parts: readonly Part[], columns: number): string {
  const kept = parts.filter(({ text }) => text !== '')
  for (;;) {
    const text = kept.map((part) => part.text).join(GAP)
    const over = widthOf(text) - columns
    if (over <= 0 || kept.length <= 1) return cut(text, columns)
    const soft = kept.find((part) => part.shrinks === true)
    if (soft !== undefined && widthOf(soft.text) - over >= SHRUNK_MIN) {
      const short = { ...soft, text: cut(soft.text, widthOf(soft.text) - over) }
      return kept.map((part) => (part === soft ? short : part).text).join(GAP)
    }
    const lightest = kept.reduce((least, part) => (part.weight < least.weight ? part : least))
    kept.splice(kept.indexOf(lightest), 1)
  }
}
