/** The resolvers without the SDK speak the same contract: this is what docs/writing-a-resolver.md shows of them. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fixture, launchFixture } from './harness.ts'

const languages = [
  { name: 'python-plain', request: 'name', answer: { name: 'Ada' }, output: 'Hello, Ada!' },
  {
    name: 'bash-plain',
    request: 'colour',
    answer: { colour: 'dark \\ "green"' },
    output: 'Painted the shed dark \\ "green", with 0 notes',
  },
]

describe.each(languages)('$name (R40: files and the eight methods are enough)', ({ name, request, answer, output }) => {
  test('asks, is answered and completes', async () => {
    const resolver = launchFixture(name)
    await resolver.start()
    const asked = await resolver.untilRequest(request)
    expect(asked).toMatchObject({ id: request, status: 'pending', schema: { type: 'form' } })
    await resolver.answer(request, answer)
    expect(await resolver.result()).toMatchObject({ status: 'completed', output })
    expect(resolver.types()[0]).toBe('resolver:created')
    expect(resolver.types().at(-1)).toBe('resolver:completed')
    expect(resolver.event('resolver:completed')?.data).toMatchObject({ outcome: 'success', summary: output })
    resolver.notify('resolver.shutdown')
    expect(await resolver.exitCode()).toBe(0)
  })

  test('gives its form and its message types before and after initialize', async () => {
    const resolver = launchFixture(name)
    const form = await resolver.call('resolver.getInstantiationSchema', { params: null })
    expect(form).toMatchObject({ type: 'form' })
    expect(await resolver.call('resolver.getWorkspaceSpec', { params: {}, available_credentials: [] })).toBeNull()
    await resolver.start()
    const types = await resolver.call('resolver.getMessageTypes', { instance_state: {} })
    expect(types).toMatchObject([{ name: 'note', schema: { type: 'form' } }])
  })

  test('takes its name from its manifest, so a copy needs only that changed', async () => {
    const cwd = join(mkdtempSync(join(tmpdir(), 'resolve-copy-')), 'copy')
    onTestFinished(() => rmSync(join(cwd, '..'), { recursive: true }))
    cpSync(fixture(name), cwd, { recursive: true })
    const manifest = JSON.parse(readFileSync(join(cwd, 'manifest.json'), 'utf8')) as object
    writeFileSync(join(cwd, 'manifest.json'), JSON.stringify({ ...manifest, name: 'copied', version: '2.0.0' }))
    const resolver = launchFixture(name, { cwd })
    await resolver.start()
    await resolver.untilEvent('copied.asked')
    const told = { resolver_name: 'copied', resolver_version: '2.0.0' }
    expect(resolver.event('resolver:created')?.data).toMatchObject(told)
  })

  test('writes no value of a secret field into its events (R55)', async () => {
    const params = { greeting: 'Ahoj', token: 'canary-of-a-field' }
    const resolver = launchFixture(name, { params, secretFields: ['token'] })
    await resolver.start()
    await resolver.untilRequest(request)
    expect(resolver.types()).toContain('resolver:created')
    expect(resolver.read('events.jsonl')).not.toContain('canary-of-a-field')
  })

  test('counts a repeated message and a repeated run once (R42)', async () => {
    const resolver = launchFixture(name)
    await resolver.start()
    await resolver.untilRequest(request)
    const message = { message_type: 'note', payload: { text: 'quickly' }, number: 1 }
    await resolver.call('resolver.message', message)
    await resolver.call('resolver.message', message)
    await resolver.start()
    await resolver.answer(request, answer)
    await resolver.result()
    expect(resolver.types().filter((type) => type === `${name}.noted`)).toHaveLength(1)
    expect(resolver.types().filter((type) => type === 'resolver:created')).toHaveLength(1)
  })

  test('is cancelled by a stop request (R23)', async () => {
    const resolver = launchFixture(name)
    await resolver.start()
    await resolver.untilRequest(request)
    expect(await resolver.call('resolver.stop', { reason: 'enough' })).toEqual({ acknowledged: true })
    expect(await resolver.result()).toMatchObject({ status: 'cancelled' })
    expect(resolver.event('resolver:completed')?.data).toMatchObject({
      outcome: 'failed',
      error: { code: 'cancelled' },
    })
  })

  test('continues after a pause where it was (R24)', async () => {
    const first = launchFixture(name)
    await first.start()
    await first.untilRequest(request)
    await first.call('resolver.message', { message_type: 'note', payload: { text: 'in red' }, number: 1 })
    await first.call('resolver.stop', { reason: 'pause_requested' })
    expect(await first.result()).toMatchObject({ status: 'paused' })
    first.notify('resolver.shutdown')
    await first.exitCode()

    const second = launchFixture(name, { dir: first.dir })
    await second.start(true)
    await second.untilRequest(request)
    await second.answer(request, answer)
    const { output: told } = await second.result()
    expect(told).toMatch(/in red|with 1 notes/)
    expect(second.types().filter((type) => type === 'resolver:created')).toHaveLength(1)
    expect(second.types().filter((type) => type === 'resolver:completed')).toHaveLength(2)
  })
})
