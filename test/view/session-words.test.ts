/** What a person reads of LLM sessions, in the progress of the terminal and in the timeline of the page. */
import { expect, test } from 'vitest'
import { progressLine } from '../../src/core/view/event-words.ts'

const USAGE = { input_tokens: 1_200, cache_read_tokens: 0, cache_write_tokens: 0, output_tokens: 34 }
const ABOUT = { session_id: 'plan', session_name: 'plan', turn: 1, model: 'anthropic/m', kind: 'live' }
const END = { ...ABOUT, success: true, duration_seconds: 12.5, steps: 3, usage: USAGE, cost_usd: 0.25 }

test('the begin of a prompt names session, model and what is not live', () => {
  expect(began(ABOUT)).toBe('session plan began with anthropic/m')
  expect(began({ ...ABOUT, turn: 2 })).toBe('session plan, prompt 2 began with anthropic/m')
  expect(began({ ...ABOUT, kind: 'scripted' })).toBe('session plan began with anthropic/m (scripted)')
})

test('the end of a prompt tells what it took, and why it failed', () => {
  expect(ended(END)).toBe('session plan ended after 12 s, 3 steps, 1234 tokens, about $0.25')
  expect(ended({ ...END, steps: 1, cost_usd: null })).toBe('session plan ended after 12 s, 1 step, 1234 tokens')
  expect(ended({ ...END, kind: 'scripted' })).toBe('session plan ended after 12 s, 3 steps')
  const error = { code: 'session_limit', detail: 'It used its 200 steps' }
  expect(ended({ ...END, success: false, error })).toBe(
    'session plan failed after 12 s, 3 steps, 1234 tokens, about $0.25: It used its 200 steps',
  )
})

function began(data: Record<string, unknown>): string | null {
  return told('platform.resolver.session_dispatched', data)
}

function ended(data: Record<string, unknown>): string | null {
  return told('platform.resolver.session_completed', data)
}

function told(event_type: string, data: Record<string, unknown>): string | null {
  const envelope = { schema_version: 1, instance_id: 'abc', timestamp: '2026-01-02T00:00:00Z' }
  return progressLine({ ...envelope, event_type, data })
}
