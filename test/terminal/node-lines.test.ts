/** The nodes of a pipeline in the live frame, as the events of its run tell them. */
import { expect, test } from 'vitest'
import { frameLines } from '../../src/terminal/live/frame.ts'
import { PipelineNodes } from '../../src/terminal/live/node-lines.ts'
import { BORN, envelope, storyAt } from './story-of.ts'

const NOW = Date.parse(BORN) + 60_000

function after(...events: [string, Record<string, unknown>][]): string[] {
  const nodes = new PipelineNodes()
  for (const [at, [type, data]] of events.entries()) nodes.take(envelope(`tour.${type}`, data, at), 'tour')
  nodes.take(envelope('other.node_start', { node_id: 'of-another' }), 'tour')
  return nodes.lines(NOW).map(({ text }) => text)
}

// verifies: S-PIPE-07
test('nodes that run or wait are listed with attempts and time, and those that ended last', () => {
  const told = after(
    ['start', { name: 'p', nodes: 9, mode: 'walk' }],
    ...['a', 'b', 'c', 'd'].flatMap((node_id): [string, Record<string, unknown>][] => [
      ['node_start', { node_id }],
      ['node_complete', { node_id, status: node_id === 'd' ? 'fail' : 'success', duration_ms: 62_000, attempts: 1 }],
    ]),
    ['node_start', { node_id: 'work\u001b[31m' }],
    ['stage_retrying', { node_id: 'work\u001b[31m', attempt: 1, delay_ms: 5 }],
    ['node_start', { node_id: 'ask' }],
    ['interview_started', { node_id: 'ask', request_id: 'q' }],
  )
  expect(told).toEqual([
    '  nodes: 4 of 9 done',
    '  ✓ b  1 min 2 s',
    '  ✓ c  1 min 2 s',
    '  ✗ d  1 min 2 s',
    '  ● work  running  2 attempts  51 s',
    '  ◆ ask  waiting  49 s',
  ])
  expect(told.join()).not.toContain('\u001b')
})

test('thousands of nodes stay a few lines, and a low terminal shows what fits', () => {
  const nodes = new PipelineNodes()
  for (let at = 0; at < 5_000; at += 1) nodes.take(envelope('tour.node_start', { node_id: `n${at}` }), 'tour')
  expect(nodes.lines(NOW)).toHaveLength(9)
  const frame = { now: NOW, interrupts: 0, watching: false, interactive: true, rows: 5, columns: 20 }
  const lines = frameLines({ ...frame, story: storyAt('running'), nodes: nodes.lines(NOW) })
  expect(lines).toHaveLength(3)
  expect(after()).toEqual([])
})
