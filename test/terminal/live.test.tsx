/** The live view: what its frame shows at each status and size, its keys, its slot, and that it keeps nothing of a long run. */
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Text } from 'ink'
import { render } from 'ink-testing-library'
import { describe, expect, test } from 'vitest'
import { STATUSES } from '../../src/core/protocol/status.ts'
import { progressLine } from '../../src/core/view/event-words.ts'
import { type FrameState, frameLines } from '../../src/terminal/live/frame.ts'
import { LiveRun, type LiveRunProps } from '../../src/terminal/live/live-run.tsx'
import { openLiveView } from '../../src/terminal/live/open-live-view.tsx'
import { widthOf } from '../../src/terminal/output/width.ts'
import { drawn } from '../support/drawn.ts'
import { fakeTerminal } from './fake-terminal.ts'
import { BORN, envelope, moved, storyAt, storyOf } from './story-of.ts'

const state = (more: Partial<FrameState> = {}): FrameState => ({
  story: storyAt('running'),
  now: Date.parse(BORN) + 12_000,
  interrupts: 0,
  watching: false,
  rows: 24,
  columns: 80,
  interactive: true,
  ...more,
})

const props = (more: Partial<LiveRunProps> = {}): LiveRunProps => ({ ...state(), onKey: () => {}, ...more })

const textOf = (more: Partial<FrameState> = {}) =>
  frameLines(state(more))
    .map((line) => line.text)
    .join('\n')

describe.each([80, 40])('in %i columns', (columns) => {
  test.each(STATUSES)('the view of an instance that is %s', (status) => {
    const { lastFrame, unmount } = render(<LiveRun {...props({ story: storyAt(status), columns })} />)
    const drawn = stripVTControlCharacters(lastFrame() ?? '')
    expect(drawn).toMatchSnapshot()
    expect(drawn).toBe(textOf({ story: storyAt(status), columns }))
    unmount()
  })

  test('after one, two and three Ctrl-C', () => {
    for (const interrupts of [1, 2, 3]) expect(textOf({ columns, interrupts })).toMatchSnapshot()
  })

  test('while watching, and without keys', () => {
    expect(textOf({ columns, watching: true })).toMatchSnapshot()
    expect(textOf({ columns, interactive: false })).toMatchSnapshot()
  })
})

test('whatever the size of the terminal, the frame is under rows - 1 lines and no line is wider than it', () => {
  for (const status of STATUSES)
    for (let rows = 3; rows < 12; rows += 1)
      for (let columns = 1; columns < 100; columns += 7)
        for (const interrupts of [0, 1, 2]) {
          const lines = frameLines(state({ story: storyAt(status), rows, columns, interrupts }))
          expect(lines.length).toBeLessThan(rows - 1)
          for (const { text } of lines) expect(widthOf(text)).toBeLessThanOrEqual(columns)
        }
  expect(frameLines(state({ rows: 1 })).length).toBe(1)
})

test('a clone has a bar while it is under way', () => {
  const setup = { step: 1, total: 2, description: 'Clone app', output: 'Receiving objects', fraction: 0.45 }
  const story = storyOf(
    moved('created', 'starting'),
    ['platform.setup.starting', { total: 2 }],
    ['platform.setup.progress', setup],
  )
  const lines = frameLines(state({ story })).map(({ text }) => text)
  expect(lines.find((line) => line.includes('Clone app'))).toMatch(/setup 1\/2.*Clone app.*45%/)
  expect(lines.find((line) => line.includes('Receiving objects'))).toBeDefined()
})

test('a lost connection is shown first, also in one row, and fits a narrow terminal', () => {
  const now = Date.parse(BORN) + 12_000
  const connection = { state: 'lost', since: now - 12_000, givesUpAt: now + 48_000 } as const
  const long = 'connection to the server lost 12 s ago, reconnecting (gives up in 48 s)'
  expect(textOf({ connection }).split('\n')[0]).toBe(long)
  expect(textOf({ connection }).split('\n')[1]).toMatch(/^● running/)
  expect(textOf({ connection, rows: 3 })).toBe(long)
  expect(textOf({ connection, columns: 40 }).split('\n')[0]).toBe('connection lost 12 s ago, reconnecting')
  expect(textOf({ connection: { state: 'back', since: now } })).toBe(textOf())
})

test('text of a resolver is cleaned for the frame', () => {
  const story = storyOf(
    moved('starting', 'running'),
    ['resolver:phase', { name: 'bu\u001b[2Jilding\u0007' }],
    ['resolver:progress', { milestone: 'x', fraction: 7, label: 'Putting on the \u001b[31mroof\r\n\u009b1A' }],
    ['resolver:artifact', { kind: 'fi\u202ele', value: '\u001b]0;owned\u0007a\tb' }],
    ['platform.input.requested', { request_id: 'q', prompt: 'Go\u0085 on?\u202e', schema: null }],
  )
  expect(textOf({ story })).toBe(
    [
      '● running  tour  0123456789ab  12 s  last event 7s ago',
      '  Go on?',
      '  building  ████████████████████  100%  Putting on the roof',
      '  artifact file: a b',
      '  d: leave it running   Ctrl-C: stop…',
    ].join('\n'),
  )
})

test('Ctrl-C, d and other keys are recognized', async () => {
  const keys: string[] = []
  const { stdin, unmount } = render(<LiveRun {...props({ onKey: (key) => keys.push(key) })} />)
  // Keys are heard once the first frame is committed.
  await drawn()
  for (const key of ['\u0003', 'x', 'd']) {
    stdin.write(key)
    await drawn()
  }
  unmount()
  expect(keys).toEqual(['interrupt', 'other', 'detach'])
})

test('a child below the frame gets the keys alone, or shares them', async () => {
  const keys: string[] = []
  const onKey = (key: string) => keys.push(key)
  const held = render(
    <LiveRun {...props({ onKey, childHoldsKeys: true })}>
      <Text>a form</Text>
    </LiveRun>,
  )
  await drawn()
  held.stdin.write('d')
  held.stdin.write('\u0003')
  await drawn()
  expect(keys).toEqual([])
  expect(held.lastFrame()).toMatch(/^● running.*\na form$/)
  held.unmount()
  const shared = render(
    <LiveRun {...props({ onKey })}>
      <Text>a question is open</Text>
    </LiveRun>,
  )
  await drawn()
  shared.stdin.write('d')
  await drawn()
  expect(keys).toEqual(['detach'])
  expect(shared.lastFrame()).toMatch(/Ctrl-C: stop…\na question is open$/)
  shared.unmount()
})

test('a child that is too long is cut off: frame and child stay under rows - 1', () => {
  const long = Array.from({ length: 30 }, (_, at) => `line ${at}`).join('\n')
  for (const rows of [4, 8, 12]) {
    const { lastFrame, unmount } = render(
      <LiveRun {...props({ rows, childHoldsKeys: true })}>
        <Text>{long}</Text>
      </LiveRun>,
    )
    expect(lastFrame()?.split('\n').length).toBeLessThan(rows - 1)
    unmount()
  }
})

describe('drawn on a terminal', () => {
  test('one Ctrl-C only warns, another key cancels it, two stop, three stop by force', async () => {
    const { stderr, stdin } = fakeTerminal()
    const done: string[] = []
    const view = openLiveView({ watching: false, stderr, stdin })
    view.steer({
      detach: () => done.push('detach'),
      pause: () => done.push('pause'),
      stop: () => done.push('stop'),
      force: () => done.push('force'),
    })
    for (const key of ['\u0003', 'x', '\u0003']) {
      stdin.type(key)
      await drawn()
    }
    expect(done).toEqual([])
    for (const key of ['\u0003', '\u0003', '\u0003']) {
      stdin.type(key)
      await drawn()
    }
    expect(done).toEqual(['stop', 'force'])
    await view.end()
  })

  test('p asks for a pause of a resolver that can be paused, and of no other', async () => {
    for (const [supports_resume, wanted] of [
      [true, ['pause']],
      [false, []],
    ] as const) {
      const { stderr, stdin, written } = fakeTerminal()
      const done: string[] = []
      const view = openLiveView({ watching: false, stderr, stdin })
      const story = storyAt('running')
      Object.assign(story.creation.resolver, { manifest: { supports_resume } })
      const act = (name: string) => () => done.push(name)
      view.steer({ detach: act('detach'), pause: act('pause'), stop: act('stop'), force: act('force') })
      const event = envelope('resolver:phase', { name: 'x' })
      await view.event({ seq: 1, sourceEnd: null, text: '', event }, story)
      await expect.poll(() => stripVTControlCharacters(written())).toContain('d: leave it running')
      stdin.type('p')
      await drawn()
      expect(done).toEqual(wanted)
      expect(stripVTControlCharacters(written()).includes('p: pause')).toBe(supports_resume)
      await view.end()
    }
  })

  test('a lost connection is shown in the frame until it is back', async () => {
    const { stderr, stdin, written } = fakeTerminal()
    const view = openLiveView({ watching: false, stderr, stdin })
    const since = Date.now() - 12_000
    view.connection({ state: 'lost', since, givesUpAt: since + 60_000 })
    await view.event(
      { seq: 1, sourceEnd: null, text: '', event: envelope('resolver:phase', { name: 'x' }) },
      storyAt('running'),
    )
    const shown = () => stripVTControlCharacters(written())
    // The clock goes on until it is drawn; the words themselves are tested above.
    await expect
      .poll(shown)
      .toMatch(/connection to the server lost 1\d s ago, reconnecting \(gives up in (?:[34]\d|50) s\)/)
    view.connection({ state: 'back', since })
    // The last frame with the loss has the status below it; frames after it have the status alone.
    const statuses = () => shown().slice(shown().lastIndexOf('connection')).split('● running').length - 1
    await expect.poll(statuses).toBeGreaterThan(1)
    await view.hide()
    view.connection({ state: 'lost', since, givesUpAt: since + 60_000 })
    expect(written()).toContain('The connection to the server is lost; reconnecting for up to 60 s.\n')
    await view.end()
  })

  test('Ctrl-C ends watch', async () => {
    const { stderr, stdin } = fakeTerminal()
    const done: string[] = []
    const view = openLiveView({ watching: true, stderr, stdin })
    view.steer({
      detach: () => done.push('detach'),
      pause: () => done.push('pause'),
      stop: () => done.push('stop'),
      force: () => done.push('force'),
    })
    stdin.type('\u0003')
    await drawn()
    expect(done).toEqual(['detach'])
    await view.end()
  })

  test('each line is written once, above the frame, and the frame is gone at the end', async () => {
    const { stderr, stdin, written } = fakeTerminal()
    const view = openLiveView({ watching: false, stderr, stdin })
    const story = storyAt('running')
    for (let number = 0; number < 1_200; number += 1)
      await view.event(
        { seq: number, sourceEnd: null, text: '', event: envelope('resolver:phase', { name: `no ${number}.` }) },
        story,
      )
    view.note('a word beside')
    await view.end()
    view.note('after the end')
    const text = stripVTControlCharacters(written())
    for (let number = 0; number < 1_200; number += 1) expect(text.split(`phase no ${number}.\n`).length).toBe(2)
    expect(text.split('a word beside\n').length).toBe(2)
    expect(text.endsWith('after the end\n')).toBe(true)
    // Nothing that clears the screen or its scrollback.
    expect(written()).not.toMatch(/\u001b\[[23]J|\u001bc/)
  })

  test('a question that ends with the run does not open the view again', async () => {
    const { stderr, stdin, written } = fakeTerminal()
    const view = openLiveView({ watching: false, stderr, stdin })
    await view.hide()
    await view.event(
      { seq: 1, sourceEnd: null, text: '', event: envelope('resolver:phase', { name: 'meanwhile' }) },
      storyAt('running'),
    )
    await view.end()
    const before = written().length
    await view.show()
    await sleep(120)
    expect(written().length).toBe(before)
    expect(written()).toContain('phase meanwhile\n')
  })

  test('the content of the slot is drawn below the frame and told its size', async () => {
    const { stderr, stdin, written } = fakeTerminal({ rows: 12, columns: 40 })
    const view = openLiveView({ watching: false, stderr, stdin })
    view.slot.put((room) => <Text>{`room of ${room.rows} by ${room.columns}`}</Text>)
    await expect.poll(written).toContain('room of 9 by 40')
    view.slot.put(undefined)
    await view.end()
  })

  test('20,000 events leave no growth in memory', { timeout: 60_000 }, async () => {
    const { stderr, stdin } = fakeTerminal({ keep: false })
    const view = openLiveView({ watching: false, stderr, stdin })
    const story = storyAt('running')
    const long = 'x'.repeat(1_000)
    const send = async (from: number, to: number) => {
      for (let number = from; number < to; number += 1) {
        const event = envelope('platform.setup.progress', {
          step: number,
          total: 20_000,
          description: `${number} ${long}`,
        })
        expect(progressLine(event)).not.toBeNull()
        await view.event({ seq: number, sourceEnd: null, text: '', event }, story)
        if (number % 100 === 0) await sleep(1)
      }
      await sleep(200)
    }
    await send(0, 1_000)
    const before = heapBytes()
    await send(1_000, 20_000)
    const grown = heapBytes() - before
    await view.end()
    // The lines alone are 19 MB.
    expect(grown).toBeLessThan(4_000_000)
  })
})

function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}
