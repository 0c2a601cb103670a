/** The live frame of a run: what is over scrolls away above it, and it never grows past the rows a terminal has. */
import { Box, Static, Text, useInput } from 'ink'
import type { Story } from '../../core/view/story.ts'
import { pendingRequests } from '../../core/view/story.ts'
import { cleanLine } from '../clean.ts'
import { durationText } from '../duration.ts'
import { STATUS_WORDS } from '../status-words.ts'

export interface LiveRunProps {
  /** Finished lines; only ever appended to. */
  lines: readonly string[]
  story: Story | undefined
  now: number
  /** How often Ctrl-C was pressed. */
  interrupts: number
  /** In `watch` Ctrl-C leaves; in `run` it takes two to stop. */
  watching: boolean
  rows: number
  onKey: (key: 'detach' | 'interrupt') => void
  /** Whether keys can be read: stdin is a terminal. */
  interactive: boolean
}

export function LiveRun(props: LiveRunProps) {
  useInput(
    (input, key) => {
      if (key.ctrl && input === 'c') props.onKey('interrupt')
      else if (input === 'd' && !key.ctrl && !key.meta) props.onKey('detach')
    },
    { isActive: props.interactive },
  )
  const frame = frameLines(props).slice(0, Math.max(1, props.rows - 1))
  return (
    <>
      <Static items={[...props.lines]}>{(line, at) => <Text key={at}>{line}</Text>}</Static>
      <Box flexDirection="column">
        {frame.map(({ text, color, dim }) => (
          <Text key={text} wrap="truncate-end" {...(color === undefined ? {} : { color })} dimColor={dim === true}>
            {text}
          </Text>
        ))}
      </Box>
    </>
  )
}

interface FrameLine {
  text: string
  color?: string
  dim?: boolean
}

/** The frame as lines, most important first: a terminal of few rows shows the first ones. */
export function frameLines({ story, now, interrupts, watching, interactive }: LiveRunProps): FrameLine[] {
  if (story === undefined) return [{ text: '…' }]
  const { shape, word, color } = STATUS_WORDS[story.status]
  const { resolver, instance_id, name, created_at } = story.birth
  const elapsed = durationText(now - Date.parse(created_at))
  const lines: FrameLine[] = [
    { text: `${shape} ${word}  ${cleanLine(name ?? resolver.name)} ${instance_id}  ${elapsed}`, color },
  ]
  const progress = progressText(story)
  if (progress !== '') lines.push({ text: `  ${progress}` })
  for (const request of pendingRequests(story).slice(0, 1))
    lines.push({ text: `  ${cleanLine(request.prompt)}`, color: 'yellow' })
  if (interactive)
    lines.push({
      text: keyText(interrupts, watching),
      dim: interrupts === 0,
      ...(interrupts > 0 ? { color: 'yellow' } : {}),
    })
  return lines
}

function progressText({ phase, progress }: Story): string {
  const parts: string[] = []
  if (phase !== null) parts.push(cleanLine(phase))
  if (progress !== null) {
    if (progress.fraction !== null) parts.push(`${barText(progress.fraction)} ${Math.round(progress.fraction * 100)}%`)
    parts.push(cleanLine(progress.label ?? progress.milestone))
  }
  return parts.filter((part) => part !== '').join('  ')
}

const BAR_COLUMNS = 20

function barText(fraction: number): string {
  const full = Math.round(fraction * BAR_COLUMNS)
  return `${'█'.repeat(full)}${'░'.repeat(BAR_COLUMNS - full)}`
}

function keyText(interrupts: number, watching: boolean): string {
  if (watching) return '  d or Ctrl-C: leave'
  if (interrupts === 0) return '  d: leave it running   Ctrl-C: stop…'
  if (interrupts === 1) return '  Nothing is stopped yet.  d: leave it running   Ctrl-C again: stop it'
  return '  Stopping…  Ctrl-C again: force'
}
