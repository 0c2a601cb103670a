/** The live view, drawn with Ink on stderr. Loaded only when it is drawn: importing Ink takes longer than the rest of a command. */
import { styleText } from 'node:util'
import { type Instance, render } from 'ink'
import type { Connection } from '../../core/index.ts'
import { within } from '../../core/primitives/within.ts'
import { progressLine } from '../../core/view/event-words.ts'
import type { Story } from '../../core/view/story.ts'
import { connectionLine } from '../output/connection.ts'
import { progressStyle } from '../view/event-lines.ts'
import type { Child, Slot, SlotOptions } from '../view/slot.ts'
import type { Controls, View } from '../view/view.ts'
import { mayPause } from './frame.ts'
import { type FrameKey, LiveRun, roomFor } from './live-run.tsx'
import { PipelineNodes } from './node-lines.ts'

const FRAME_MS = 80
const TICK_MS = 500
/** When this many lines are waiting they are written at once: a flood of events must not fill the memory. */
const LINES_MAX = 500
/** A closed terminal may never finish drawing. */
const CLOSE_LIMIT_MS = 1_000

export interface LiveView extends View {
  /** Connects the keys; before this call keys do nothing. */
  steer(controls: Controls): void
  slot: Slot
}

export interface LiveViewOptions {
  watching: boolean
  /** Whether lines above the frame use colour; Ink decides about its own colour at import. */
  coloured?: boolean
  /** The streams to draw on and to read keys from; set by tests. */
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
  const nodes = new PipelineNodes()
  let ended = false
  let isHeld = false

  const onKey = (key: FrameKey) => {
    if (key === 'detach') return controls?.detach()
    if (key === 'pause' && interrupts === 0 && mayPause(story)) return controls?.pause()
    if (key === 'other' || key === 'pause') {
      // A stop cannot be undone; before it, any other key resets the count.
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
        nodes={nodes.lines(Date.now())}
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
    // Runs before Ink's own listener, which redraws immediately: the frame must have the new size by then.
    stderr.prependListener('resize', draw)
    // A closed terminal is reported by SIGHUP; an error of its stdin must not end the process before that.
    stdin.on('error', ignore)
    // The caller has decided to draw; Ink's own detection looks at stdout and CI.
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
    // Writes the last lines and removes the frame; later output begins on the frame's row.
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
      nodes.take(event, current.creation.resolver.name)
      const line = progressLine(event)
      if (line === null || event.event_type === 'resolver:progress') return drawSoon()
      const style = coloured ? progressStyle(event) : undefined
      append(style === undefined ? line : styleText(style, line, { validateStream: false }))
    },
    // While nothing is drawn, there is no frame to write above.
    note: (line) => (ink === undefined ? void stderr.write(`${line}\n`) : append(line)),
    connection(changed) {
      connection = changed
      // While nothing is drawn, the change is printed as a line.
      if (ink === undefined) stderr.write(`${connectionLine(changed, Date.now())}\n`)
      else draw()
    },
    hide: close,
    show: open,
    async end() {
      ended = true
      await close()
      // Events that arrived while nothing was drawn.
      for (const line of pending.splice(0)) stderr.write(`${line}\n`)
    },
  }
}
