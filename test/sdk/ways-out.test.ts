/** Every way out of a run leaves resolver:completed, status.json and, where it still can, resolver.finished (R21, R23). */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { launchSample, type ResolverProcess } from './harness.ts'

const start = async (scenario: string, dir?: string): Promise<ResolverProcess> => {
  const resolver = launchSample('scenarios', { params: { scenario }, ...(dir === undefined ? {} : { dir }) })
  await resolver.start(dir !== undefined)
  return resolver
}

const completed = (resolver: ResolverProcess) => {
  const found = resolver.events().filter((event) => event.event_type === 'resolver:completed')
  expect(found).toHaveLength(1)
  expect(resolver.types().at(-1)).toBe('resolver:completed')
  return found[0]?.data
}

describe('by itself', () => {
  const ways = [
    {
      scenario: 'text',
      result: { status: 'completed', output: 'done', error: null, sessions_used: 0 },
      summary: 'done',
    },
    { scenario: 'nothing', result: { status: 'completed', output: null }, summary: 'completed' },
    {
      scenario: 'failed-result',
      result: { status: 'failed', error: 'no luck' },
      error: { code: 'failed', detail: 'no luck' },
    },
    {
      scenario: 'throws',
      result: { status: 'failed', error: 'boom' },
      error: { code: 'unexpected_error', detail: 'boom', place: 'scenarios.ts:17' },
    },
    { scenario: 'sessions', result: { status: 'failed' }, error: { code: 'sessions_missing' } },
  ]
  // verifies: S-PLUG-12 S-PLUG-13 S-RES-01
  test.each(ways)('$scenario', async ({ scenario, result, summary, error }) => {
    const resolver = await start(scenario)
    expect(await resolver.result()).toMatchObject(result)
    const data = completed(resolver)
    expect(data).toMatchObject({ outcome: error === undefined ? 'success' : 'failed', artifact_count: 0 })
    expect(data?.['duration_s']).toBeTypeOf('number')
    if (summary !== undefined) expect(data).toMatchObject({ summary })
    if (error !== undefined) expect(data).toMatchObject({ error })
    else expect(data).not.toHaveProperty('error')
    expect(resolver.notices('resolver.finished')).toMatchObject([{ params: { result } }])
  })

  test('a result with an unknown status fails, and names the known ones', async () => {
    const resolver = await start('odd-result')
    expect(await resolver.result()).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('completed, paused'),
    })
  })

  test("an author's own resolver:completed is not doubled", async () => {
    const resolver = await start('completes-itself')
    await resolver.result()
    expect(completed(resolver)).toMatchObject({ summary: 'mine' })
  })

  test('nothing is emitted after resolver:completed', async () => {
    const resolver = await start('emits-late')
    await resolver.result()
    resolver.child.stdin.end()
    await resolver.exitCode()
    completed(resolver)
  })
})

describe('by force', () => {
  test('process.exit inside run() writes a failed result', async () => {
    const resolver = await start('exits')
    expect(await resolver.exitCode()).toBe(3)
    expect(await resolver.result()).toMatchObject({ status: 'failed', error: expect.stringContaining('code 3') })
    expect(completed(resolver)).toMatchObject({ outcome: 'failed' })
  })

  test.each([
    ['uncaught', 'out of the blue'],
    ['unhandled', 'an unhandled rejection'],
  ])('an %s error ends the run as failed', async (scenario, detail) => {
    const resolver = await start(scenario)
    expect(await resolver.exitCode()).toBe(1)
    expect(await resolver.result()).toMatchObject({ status: 'failed', error: detail })
    expect(completed(resolver)).toMatchObject({ error: { code: 'unexpected_error', detail } })
    await resolver.untilSaid(detail)
  })

  test('SIGTERM without a stop is a failure', async () => {
    const resolver = await start('waits')
    await resolver.untilEvent('scenarios.waiting')
    resolver.child.kill('SIGTERM')
    expect(await resolver.exitCode()).toBe(143)
    expect(await resolver.result()).toMatchObject({ status: 'failed' })
    expect(completed(resolver)).toMatchObject({ outcome: 'failed' })
  })

  test('after stdin is closed the result is still written, and the process ends by itself', async () => {
    const resolver = await start('text-later')
    await resolver.untilEvent('scenarios.waiting')
    resolver.child.stdin.end()
    expect(await resolver.exitCode()).toBe(0)
    expect(await resolver.result()).toMatchObject({ status: 'completed' })
  })

  test('shutdown ends an idle process with code 0', async () => {
    const resolver = await start('text')
    await resolver.result()
    resolver.notify('resolver.shutdown')
    expect(await resolver.exitCode()).toBe(0)
    completed(resolver)
  })
})

describe('by a stop', () => {
  // verifies: S-RES-03 S-RULE-03 S-PLUG-11 S-RPC-03
  test.each(['waits', 'loops', 'wraps', 'forgets-its-question'])('%s: cancelled (R23)', async (scenario) => {
    const resolver = await start(scenario)
    await resolver.untilEvent('scenarios.waiting')
    expect(await resolver.call('resolver.stop', { reason: 'enough' })).toEqual({ acknowledged: true })
    expect(await resolver.call('resolver.stop', { reason: 'enough' })).toEqual({ acknowledged: true })
    expect(await resolver.result()).toMatchObject({ status: 'cancelled', error: 'enough' })
    expect(completed(resolver)).toMatchObject({ outcome: 'failed', error: { code: 'cancelled', detail: 'enough' } })
  })

  test.each([
    ['enough', true, 'cancelled'],
    ['pause_requested', true, 'paused'],
    ['pause_requested', false, 'cancelled'],
  ])('process.exit in answer to a stop: %s, saved %s, is %s', async (reason, saves, status) => {
    const resolver = launchSample('scenarios', { params: { scenario: 'exits-on-stop', saves } })
    await resolver.start()
    await resolver.untilEvent('scenarios.waiting')
    resolver.notify('resolver.stop', { reason })
    await resolver.exitCode()
    expect(await resolver.result()).toMatchObject({ status })
    completed(resolver)
  })

  test('a question that waits ends with the stop', async () => {
    const resolver = await start('asks')
    await resolver.untilRequest('size')
    await resolver.call('resolver.stop', { reason: 'enough' })
    expect(await resolver.result()).toMatchObject({ status: 'cancelled' })
    expect(resolver.event('resolver:input_responded')?.data).toMatchObject({ request_id: 'size', outcome: 'cancelled' })
  })

  test('an exception after a stop is still a failure', async () => {
    const resolver = await start('breaks-on-stop')
    await resolver.untilEvent('scenarios.waiting')
    await resolver.call('resolver.stop', { reason: 'enough' })
    expect(await resolver.result()).toMatchObject({ status: 'failed', error: 'a real fault' })
  })

  test('a stop before the run cancels it before it begins', async () => {
    const resolver = launchSample('scenarios', { params: { scenario: 'waits' } })
    await resolver.call('resolver.initialize', { config: resolver.config })
    await resolver.call('resolver.stop', { reason: 'never mind' })
    await resolver.call('resolver.run', { resume: false })
    expect(await resolver.result()).toMatchObject({ status: 'cancelled' })
    expect(resolver.types()).toEqual(['resolver:created', 'resolver:completed'])
  })
})

describe('by a pause (R24, R27)', () => {
  // verifies: S-RULE-02 S-MOVE-08
  test.each(['pause_requested', 'lifetime_exceeded'])('%s: paused, and resumed from the checkpoint', async (reason) => {
    const first = await start('saves-and-waits')
    await first.untilEvent('scenarios.waiting')
    await first.call('resolver.stop', { reason })
    expect(await first.result()).toMatchObject({ status: 'paused' })
    expect(completed(first)).toMatchObject({ outcome: 'success', summary: expect.stringMatching(/^paused/) })

    const second = await start('saves-and-waits', first.dir)
    expect(await second.result()).toMatchObject({ status: 'completed', output: 'went on from 7' })
    expect(second.types().filter((type) => type === 'resolver:created')).toHaveLength(1)
    expect(second.types().filter((type) => type === 'resolver:completed')).toHaveLength(2)
  })

  test('without a checkpoint the run begins again', async () => {
    const first = await start('never-saves')
    await first.untilEvent('scenarios.waiting')
    await first.call('resolver.stop', { reason: 'pause_requested' })
    expect(await first.result()).toMatchObject({ status: 'paused' })
    expect(first.read('checkpoint.json')).toBe('null')
    const second = await start('never-saves', first.dir)
    expect(await second.result()).toMatchObject({ output: 'went on from the beginning' })
  })

  test("by the resolver's own will", async () => {
    const resolver = await start('pauses')
    expect(await resolver.result()).toMatchObject({ status: 'paused', output: 'waiting for a review' })
    expect(completed(resolver)).toMatchObject({ outcome: 'success', summary: 'paused: waiting for a review' })
  })

  test('a question that was answered before the pause is not asked again', async () => {
    const first = await start('asks')
    await first.untilRequest('size')
    await first.call('resolver.stop', { reason: 'pause_requested' })
    await first.result()
    writeFileSync(join(first.dir, 'input-requests/size.response.json'), '{"size":"large"}')
    const second = await start('asks', first.dir)
    expect(await second.result()).toMatchObject({ output: 'large undefined' })
  })
})
