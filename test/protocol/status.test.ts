import { expect, test } from 'vitest'
import { isDataChanged, tierOf } from '../../src/core/protocol/event.ts'
import { canMove, hasWorker, isStatus, isTerminal, MOVES, STATUSES } from '../../src/core/protocol/status.ts'

// verifies: S-MOVE-02 S-MOVE-03 S-MOVE-04 S-MOVE-05 S-MOVE-06 S-MOVE-07 S-MOVE-08 S-MOVE-09 S-MOVE-10 S-MOVE-11 S-MOVE-12 S-MOVE-13
test('the moves are the table of the spec and no more, with stops while starting (R20)', () => {
  const moves = STATUSES.flatMap((from) => STATUSES.filter((to) => canMove(from, to)).map((to) => `${from} > ${to}`))
  expect(moves.sort()).toEqual(
    [
      'created > starting',
      'created > cancelled',
      'starting > running',
      'starting > failed',
      'starting > cancelled',
      'running > awaiting_input',
      'running > paused',
      'running > completed',
      'running > failed',
      'running > cancelled',
      'awaiting_input > running',
      'awaiting_input > cancelled',
      'paused > running',
      'paused > cancelled',
    ].sort(),
  )
})

// verifies: S-STATE-06 S-STATE-07 S-STATE-08
test('completed, failed and cancelled are final: nothing leads out of them (R20)', () => {
  expect(STATUSES.filter(isTerminal)).toEqual(['completed', 'failed', 'cancelled'])
  expect(STATUSES.filter((status) => MOVES[status].length === 0)).toEqual(['completed', 'failed', 'cancelled'])
})

test('a worker counts towards the lifetime while starting, running and awaiting_input (R27)', () => {
  expect(STATUSES.filter(hasWorker)).toEqual(['starting', 'running', 'awaiting_input'])
})

test('only the eight words are a status', () => {
  expect(['running', 'Running', 'done', '', null, 3, 'toString'].filter(isStatus)).toEqual(['running'])
})

// verifies: S-EVT-02
test('the prefix gives the tier', () => {
  expect(tierOf('platform.worker.ready')).toBe(1)
  expect(tierOf('resolver:phase')).toBe(2)
  expect([tierOf('tour.hurried'), tierOf('platformer.jump'), tierOf('resolver.odd')]).toEqual([3, 3, 3])
})

test('data_changed is known by its suffix, whatever the prefix (R19)', () => {
  const types = ['tour.data_changed', 'a.b.data_changed', 'data_changed', 'tour.data_changed.x', 'tour-data_changed']
  expect(types.filter(isDataChanged)).toEqual(['tour.data_changed', 'a.b.data_changed'])
})
