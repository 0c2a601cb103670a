/** The live frame: what it shows, and that it never outgrows the terminal. */
import { render } from 'ink-testing-library'
import { expect, test } from 'vitest'
import type { EventEnvelope } from '../../src/core/protocol/event.ts'
import type { Birth } from '../../src/core/protocol/journal.ts'
import { beginStory, type Story, tell } from '../../src/core/view/story.ts'
import { frameLines, LiveRun, type LiveRunProps } from '../../src/terminal/live/live-run.tsx'

const BORN = '2026-01-01T00:00:00.000Z'

function story(...events: [string, Record<string, unknown>][]): Story {
  const birth = {
    schema: 'resolve.journal/1',
    instance_id: '0123456789ab',
    name: null,
    created_at: BORN,
    input: {},
    resolver: { name: 'tour', version: '1.0.0' },
  } as unknown as Birth
  const told = beginStory(birth)
  events.forEach(([event_type, data], at) => {
    const event: EventEnvelope = {
      schema_version: 1,
      event_type,
      instance_id: birth.instance_id,
      data,
      timestamp: BORN,
    }
    tell(told, at + 1, event)
  })
  return told
}

const props = (more: Partial<LiveRunProps>): LiveRunProps => ({
  lines: [],
  story: story(
    ['platform.instance.status_changed', { from: 'starting', to: 'running' }],
    ['resolver:phase', { name: 'building' }],
    ['resolver:progress', { milestone: 'roof', fraction: 0.5, label: 'Putting on the \u001b[31mroof' }],
  ),
  now: Date.parse(BORN) + 12_000,
  interrupts: 0,
  watching: false,
  rows: 24,
  onKey: () => {},
  interactive: true,
  ...more,
})

test('it shows status, elapsed time, phase and progress, cleaned', () => {
  const text = frameLines(props({}))
    .map((line) => line.text)
    .join('\n')
  expect(text).toBe(
    [
      '● running  tour 0123456789ab  12 s',
      '  building  ██████████░░░░░░░░░░ 50%  Putting on the roof',
      '  d: leave it running   Ctrl-C: stop…',
    ].join('\n'),
  )
})

test('finished lines stand above the frame', () => {
  const { lastFrame, unmount } = render(<LiveRun {...props({ lines: ['phase building'] })} />)
  expect(lastFrame()).toMatch(/^phase building\n● running/)
  unmount()
})

test('in a terminal of two rows the frame is one', () => {
  const { lastFrame, unmount } = render(<LiveRun {...props({ rows: 2 })} />)
  expect(lastFrame()).toBe('● running  tour 0123456789ab  12 s')
  unmount()
})

test('Ctrl-C and d are told apart, and what the next Ctrl-C does is said', async () => {
  const keys: string[] = []
  const { stdin, unmount } = render(<LiveRun {...props({ onKey: (key) => keys.push(key) })} />)
  // Keys are heard once the first frame is committed.
  await new Promise((done) => setTimeout(done, 50))
  stdin.write('\u0003')
  stdin.write('x')
  stdin.write('d')
  await new Promise((done) => setTimeout(done, 50))
  unmount()
  expect(keys).toEqual(['interrupt', 'detach'])
  expect(frameLines(props({ interrupts: 1 })).at(-1)?.text).toContain('Nothing is stopped yet')
  expect(frameLines(props({ interrupts: 2 })).at(-1)?.text).toContain('Ctrl-C again: force')
  expect(frameLines(props({ watching: true })).at(-1)?.text).toBe('  d or Ctrl-C: leave')
})

test('a question stands in the frame', () => {
  const asking = story(
    ['platform.instance.status_changed', { from: 'starting', to: 'running' }],
    ['platform.input.requested', { request_id: 'q', prompt: 'Go on?\u202e', schema: { type: 'form', components: [] } }],
    ['platform.instance.status_changed', { from: 'running', to: 'awaiting_input' }],
  )
  expect(frameLines(props({ story: asking })).map((line) => line.text)).toContain('  Go on?')
})
