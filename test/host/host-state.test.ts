import { expect, test } from 'vitest'
import { requireLegalMove } from '../../src/core/host/lifecycle/host-state.ts'

const NAMES = ['idle', 'launching', 'getting-ready', 'running', 'settling', 'ending-before-run', 'released'] as const

test('a host goes forward only, and can be released from every state but released', () => {
  const moves = NAMES.flatMap((from) => NAMES.filter((to) => isLegal(from, to)).map((to) => `${from} → ${to}`))
  expect(moves).toEqual([
    'idle → launching',
    'idle → released',
    'launching → getting-ready',
    'launching → ending-before-run',
    'launching → released',
    'getting-ready → running',
    'getting-ready → ending-before-run',
    'getting-ready → released',
    'running → settling',
    'running → released',
    'settling → released',
    'ending-before-run → released',
  ])
})

test('a move that is not legal is a bug that names both states', () => {
  expect(() => requireLegalMove('settling', 'running')).toThrow(/from settling to running/)
})

function isLegal(from: (typeof NAMES)[number], to: (typeof NAMES)[number]): boolean {
  try {
    requireLegalMove(from, to)
    return true
  } catch {
    return false
  }
}
