/** The eight calls on a resolver and their limits, on a clock that is moved by hand (spec, JSON-RPC methods). */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ResolverCalls } from '../../src/core/host/launch/resolver-calls.ts'
import type { HostCall } from '../../src/core/protocol/methods.ts'
import { type Channel, pairedChannels } from '../../src/core/rpc/channel.ts'

let host: Channel
let resolver: Channel
let heard: Record<string, unknown>[]

beforeEach(() => {
  vi.useFakeTimers()
  ;[host, resolver] = pairedChannels()
  heard = []
  resolver.onLine((line) => heard.push(JSON.parse(line)))
})

afterEach(() => {
  vi.useRealTimers()
})

// verifies: S-RPC-01 S-RPC-02 S-RPC-03 S-RPC-04 S-RPC-05 S-RPC-06 S-RPC-07 S-RPC-08 S-LIM-05
test.each<[HostCall, number]>([
  ['resolver.initialize', 30],
  ['resolver.stop', 30],
  ['resolver.getInstantiationSchema', 10],
  ['resolver.getWorkspaceSpec', 10],
  ['resolver.inputResponse', 5],
  ['resolver.message', 5],
  ['resolver.getMessageTypes', 5],
])('%s is waited for %i s, and no longer', async (method, seconds) => {
  const calls = new ResolverCalls(host, { epoch: 3 })
  let outcome: unknown = 'waiting'
  calls.call(method, {} as never).catch((error: unknown) => {
    outcome = error
  })
  await vi.advanceTimersByTimeAsync(seconds * 1_000 - 1)
  expect(heard).toMatchObject([{ jsonrpc: '2.0', id: '3:1', method, params: {} }])
  expect(outcome).toBe('waiting')
  await vi.advanceTimersByTimeAsync(1)
  expect(outcome).toMatchObject({ code: 'resolver_silent', details: { method, limit_ms: seconds * 1_000 } })
})

test('run is waited for without a limit', async () => {
  const calls = new ResolverCalls(host, { epoch: 1 })
  let outcome: unknown = 'waiting'
  const settle = (value: unknown) => {
    outcome = value
  }
  calls.call('resolver.run', { resume: false }).then(settle, settle)
  await vi.advanceTimersByTimeAsync(24 * 60 * 60_000)
  expect(outcome).toBe('waiting')
  resolver.send(JSON.stringify({ jsonrpc: '2.0', id: '1:1', result: { status: 'started' } }))
  await vi.advanceTimersByTimeAsync(0)
  expect(outcome).toEqual({ status: 'started' })
})

test('replies to an earlier host or to an unknown call, late and doubled replies are ignored (threats RPC-3)', async () => {
  const calls = new ResolverCalls(host, { epoch: 2 })
  const answer = calls.call('resolver.message', { message_type: 'a', payload: {}, number: 1 })
  for (const id of ['1:1', '2:7', '2:1', '2:1']) resolver.send(JSON.stringify({ jsonrpc: '2.0', id, result: id }))
  expect(await answer).toBe('2:1')
})

// verifies: S-RPC-09 R40
test('notifications of the resolver carry no id and reach their handler', async () => {
  const rung: string[] = []
  new ResolverCalls(host, {
    epoch: 1,
    onEvent: () => rung.push('event'),
    onFinished: () => rung.push('finished'),
    onLog: (level, message) => rung.push(`${level}: ${message}`),
  })
  resolver.send(JSON.stringify({ jsonrpc: '2.0', method: 'resolver.event', params: { offset: 10 } }))
  resolver.send(
    JSON.stringify({ jsonrpc: '2.0', method: 'resolver.finished', params: { result: { status: 'completed' } } }),
  )
  resolver.send(
    JSON.stringify({ jsonrpc: '2.0', method: 'resolver.log', params: { level: 'warn', message: 'careful' } }),
  )
  await vi.advanceTimersByTimeAsync(0)
  expect(rung).toEqual(['event', 'finished', 'warn: careful'])
  expect(heard).toEqual([])
})

test('an optional method that the resolver does not know gives null', async () => {
  const calls = new ResolverCalls(host, { epoch: 1 })
  const asked = calls.ask('resolver.getWorkspaceSpec', { params: {}, available_credentials: [] })
  resolver.send(JSON.stringify({ jsonrpc: '2.0', id: '1:1', error: { code: -32601, message: 'no such method' } }))
  expect(await asked).toBeNull()
})

test('a resolver with too much noise is reported once and then ignored (threats RPC-5)', async () => {
  const faults: string[] = []
  const rung: string[] = []
  const onProtocolError = (detail: string) => faults.push(detail)
  const calls = new ResolverCalls(host, { epoch: 1, onProtocolError, onEvent: () => rung.push('event') })
  for (let n = 0; n < 100_000; n += 1) resolver.send('noise')
  resolver.send(JSON.stringify({ jsonrpc: '2.0', method: 'resolver.event' }))
  await vi.advanceTimersByTimeAsync(0)
  expect(faults).toHaveLength(1)
  expect(calls.protocolError).toBe(faults[0])
  expect(rung).toEqual([])
})

test('notifications repeated within one turn of the event loop are handled at most twice (threats RPC-5)', async () => {
  let heardTimes = 0
  new ResolverCalls(host, { epoch: 1, onFinished: () => (heardTimes += 1) })
  for (let n = 0; n < 1_000; n += 1) resolver.send(JSON.stringify({ jsonrpc: '2.0', method: 'resolver.finished' }))
  await vi.advanceTimersByTimeAsync(0)
  await vi.advanceTimersByTimeAsync(0)
  expect(heardTimes).toBeGreaterThan(0)
  expect(heardTimes).toBeLessThanOrEqual(2)
})

test('noise is reported once when it passes the limit (R41)', async () => {
  const faults: string[] = []
  new ResolverCalls(host, { epoch: 1, onProtocolError: (detail) => faults.push(detail) })
  for (let n = 0; n < 1_000; n += 1) resolver.send('noise')
  await vi.advanceTimersByTimeAsync(0)
  expect(faults).toEqual([])
  resolver.send('one more')
  await vi.advanceTimersByTimeAsync(0)
  expect(faults).toEqual(['1001 lines on stdout were not JSON-RPC'])
})
