/** The live view with Ink, on stderr. Loaded only when it is drawn: Ink costs more to import than all else a command does. */
import { styleText } from 'node:util'
import { type Instance, render } from 'ink'
import type { Connection } from '../../core/index.ts'
import { progressLine } from '../../core/view/event-words.ts'
import type { Story } from '../../core/view/story.ts'
import { connectionLine } from '../output/connection.ts'
import { progressStyle } from '../view/event-lines.ts'
import type { Child, Slot, SlotOptions } from '../view/slot.ts'
import type { Controls, View } from '../view/view.ts'
import { type FrameKey, LiveRun, roomFor } from './live-run.tsx'

const FRAME_MS = 80
const TICK_MS = 500
/** So many lines are written at once, also when no frame is due: a flood must not pile up here. */
const LINES_MAX = 500
/** A terminal that is gone may never say that it has drawn. */
const CLOSE_LIMIT_MS = 1_000

export interface LiveView extends View {
  /** Where the keys lead; until it is called they do nothing. */
  steer(controls: Controls): void
  slot: Slot
}

export interface LiveViewOptions {
  watching: boolean
  /** Whether the lines that scroll away have colour; Ink's own is decided at its import. */
  coloured?: boolean
  /** Where it is drawn, and whose keys are read; for tests. */
  stderr?: NodeJS.WriteStream
  stdin?: NodeJS.ReadStream
}

export function openLiveView(options: LiveViewOptions): LiveView {
  const { watching, coloured = false, stderr = process.stderr, stdin = process.stdin } = options
  let pending: string[] = []
  let story: Story | undefined
  let interrupts = 0
  let controls: Controls | undefined
  let ink: Instance | undefined
  let writeAbove: ((text: string) => void) | undefined
  let due: NodeJS.Timeout | undefined
  let tick: NodeJS.Timeout | undefined
  let child: Child | undefined
  let keys: SlotOptions['keys'] = 'own'
  let connection: Connection | undefined
  let ended = false
  let isHeld = false

  const onKey = (key: FrameKey) => {
    if (key === 'detach') return controls?.detach()
    if (key === 'other') {
      // Once it stops it stops; before that a person may think again.
      if (interrupts === 1) interrupts = 0
    } else if (watching) return controls?.detach()
    else {
      interrupts += 1
      if (interrupts === 2) controls?.stop()
      if (interrupts === 3) controls?.force()
    }
    draw()
  }
  const onOpen = (write: (text: string) => void) => {
    writeAbove = write
  }
  const frame = () => {
    const { rows = 24, columns = 80 } = stderr
    const holdsKeys = child !== undefined && keys === 'own'
    return (
      <LiveRun
        story={story}
        now={Date.now()}
        interrupts={interrupts}
        watching={watching}
        interactive={stdin.isTTY === true}
        rows={rows}
        columns={columns}
        onKey={onKey}
        connection={connection}
        onOpen={onOpen}
        childHoldsKeys={holdsKeys}
      >
        {child?.(roomFor(rows, columns))}
      </LiveRun>
    )
  }
  const flush = () => {
    if (pending.length === 0 || writeAbove === undefined || isHeld) return
    const text = pending.join('\n')
    pending = []
    writeAbove(`${text}\n`)
  }
  const draw = () => {
    clearTimeout(due)
    due = undefined
    flush()
    ink?.rerender(frame())
  }
  const drawSoon = () => {
    if (pending.length >= LINES_MAX) flush()
    due ??= setTimeout(draw, FRAME_MS)
  }
  const ignore = () => {}

  const open = () => {
    if (ended || ink !== undefined) return Promise.resolve()
    // Before Ink's own listener: it draws at once, and must not draw the frame of the old size.
    stderr.prependListener('resize', draw)
    // A terminal that goes away is told by SIGHUP; its stdin must not end the process with an error first.
    stdin.on('error', ignore)
    // Whether to draw was decided before; Ink's own guess goes by stdout and by an empty CI.
    ink = render(frame(), { stdout: stderr, stdin, exitOnCtrlC: false, patchConsole: false, interactive: true })
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
    flush()
    last.rerender(frame())
    ink = undefined
    await within(CLOSE_LIMIT_MS, last.waitUntilRenderFlush())
    last.clear()
    last.unmount()
    writeAbove = undefined
    await within(CLOSE_LIMIT_MS, last.waitUntilExit())
    stderr.off('resize', draw)
    stdin.off('error', ignore)
  }
  const append = (line: string) => {
    pending.push(line)
    drawSoon()
  }

  void open()
  return {
    steer(given) {
      controls = given
    },
    slot: {
      put(given, { keys: held = 'own' } = {}) {
        child = given
        keys = held
        draw()
      },
      hold(held) {
        isHeld = held
        if (!held) drawSoon()
      },
    },
    event({ event }, current) {
      story = current
      const line = progressLine(event)
      if (line === null || event.event_type === 'resolver:progress') return drawSoon()
      const style = coloured ? progressStyle(event) : undefined
      append(style === undefined ? line : styleText(style, line, { validateStream: false }))
    },
    // While nothing is drawn there is no frame to stand above.
    note: (line) => (ink === undefined ? void stderr.write(`${line}\n`) : append(line)),
    connection(changed) {
      connection = changed
      // While nothing is drawn it is said.
      if (ink === undefined) stderr.write(`${connectionLine(changed, Date.now())}\n`)
      else draw()
    },
    hide: close,
    show: open,
    async end() {
      ended = true
      await close()
      // What happened while nothing was drawn.
      for (const line of pending.splice(0)) stderr.write(`${line}\n`)
    },
  }
}

async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((done) => {
    timer = setTimeout(done, ms)
  })
  await Promise.race([promise, late])
  clearTimeout(timer)
}
