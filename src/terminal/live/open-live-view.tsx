/** The view with Ink, on stderr. Loaded only when it is drawn: Ink costs more to import than all else a command does. */
import { type Instance, render } from 'ink'
import type { Story } from '../../core/view/story.ts'
import { progressLine } from '../event-lines.ts'
import type { Controls } from '../follow.ts'
import type { View } from '../view.ts'
import { LiveRun } from './live-run.tsx'

const FRAME_MS = 80
const TICK_MS = 500

export interface LiveView extends View {
  /** Where the keys lead; until it is called they do nothing. */
  steer(controls: Controls): void
}

export function openLiveView({ watching }: { watching: boolean }): LiveView {
  let lines: string[] = []
  let story: Story | undefined
  let interrupts = 0
  let controls: Controls | undefined
  let ink: Instance | undefined
  let due: NodeJS.Timeout | undefined
  let tick: NodeJS.Timeout | undefined

  const onKey = (key: 'detach' | 'interrupt') => {
    if (key === 'detach' || watching) return controls?.detach()
    interrupts += 1
    if (interrupts === 2) controls?.stop()
    if (interrupts >= 3) controls?.force()
    draw()
  }
  const frame = () => (
    <LiveRun
      lines={lines}
      story={story}
      now={Date.now()}
      interrupts={interrupts}
      watching={watching}
      rows={process.stderr.rows ?? 24}
      onKey={onKey}
      interactive={process.stdin.isTTY === true}
    />
  )
  const draw = () => {
    due = undefined
    ink?.rerender(frame())
  }
  const drawSoon = () => {
    due ??= setTimeout(draw, FRAME_MS)
  }
  const open = () => {
    // Whether to draw was decided before; Ink's own guess goes by stdout and by an empty CI.
    ink = render(frame(), { stdout: process.stderr, exitOnCtrlC: false, patchConsole: false, interactive: true })
    tick = setInterval(drawSoon, TICK_MS)
    return Promise.resolve()
  }
  const close = async () => {
    clearTimeout(due)
    clearInterval(tick)
    due = undefined
    if (ink === undefined) return
    const last = ink
    // The last lines scroll; the frame itself goes, and what comes after begins on its row.
    last.rerender(frame())
    await last.waitUntilRenderFlush()
    last.clear()
    last.unmount()
    await last.waitUntilExit()
    ink = undefined
    lines = []
  }
  const append = (line: string) => {
    lines = [...lines, line]
    drawSoon()
  }

  void open()
  return {
    steer(given) {
      controls = given
    },
    event({ event }, told) {
      story = told
      const line = progressLine(event)
      if (line !== null && event.event_type !== 'resolver:progress') append(line)
      else drawSoon()
    },
    // While a question holds the terminal there is no frame to stand above.
    note: (line) => (ink === undefined ? void process.stderr.write(`${line}\n`) : append(line)),
    hide: close,
    show: open,
    end: close,
  }
}
