/** The built-in resolvers, bundled as they are shipped. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { builtSdk, type LaunchOptions, ResolverProcess } from './harness.ts'

const launch = (name: string, options: Partial<LaunchOptions> = {}) => {
  const cwd = join(builtSdk(), 'resolvers', name)
  return new ResolverProcess({ command: ['node', 'resolver.js'], cwd, name, ...options })
}

describe('hello', () => {
  test.each([
    [{ name: 'Ada' }, 'Hello, Ada!'],
    [{ name: '  ' }, 'Hello, world!'],
    [{}, 'Hello, world!'],
  ])('%j', async (params, output) => {
    const resolver = launch('hello', { params })
    await resolver.start()
    expect(await resolver.result()).toMatchObject({ status: 'completed', output })
    expect(resolver.event('resolver:created')?.data).toMatchObject({
      resolver_name: 'hello',
      resolver_version: '1.0.0',
    })
  })
})

describe('tour', () => {
  const instant = { pace: 'instant', subject: 'a bridge' }

  test('shows every part', async () => {
    const resolver = launch('tour', { params: { ...instant, plaque: true, inscription: 'Cross me' } })
    await resolver.start()
    await resolver.untilRequest('confirm-plan')
    await resolver.call('resolver.message', { message_type: 'note', payload: { text: 'Hear, hear' }, number: 1 })
    const path = new URL('../../src/resolvers/tour/answers.json', import.meta.url)
    const answers = JSON.parse(readFileSync(path, 'utf8')) as Record<string, Record<string, unknown>>
    await resolver.answer('confirm-plan', answers['confirm*'] ?? {})
    expect(await resolver.result()).toMatchObject({ status: 'completed', output: 'Built a bridge' })
    const phases = resolver.events().filter(({ event_type }) => event_type === 'resolver:phase')
    expect(phases.map(({ data }) => data['name'])).toEqual(['surveying', 'planning', 'building', 'opening'])
    expect(resolver.read('data/opening/speech.md')).toBe('Mind the step\nHear, hear\nCross me\n')
    expect(resolver.event('resolver:completed')?.data).toMatchObject({ artifact_count: 2 })
    expect(resolver.types()).toContain('tour.data_changed')
    expect(resolver.json('state.json')).toMatchObject({ phase: 'opening', notes: 1 })
  })

  test('its form grows with the input, and its messages change with the phase', async () => {
    const resolver = launch('tour')
    const ids = async (params: object | null) =>
      (
        (await resolver.call('resolver.getInstantiationSchema', { params })) as { components: { id: string }[] }
      ).components.map(({ id }) => id)
    expect(await ids(null)).toEqual(['subject', 'pace', 'plaque'])
    expect(await ids({ plaque: true })).toEqual(['subject', 'pace', 'plaque', 'inscription'])
    const names = async (phase: string) =>
      ((await resolver.call('resolver.getMessageTypes', { instance_state: { phase } })) as { name: string }[]).map(
        ({ name }) => name,
      )
    expect(await names('planning')).toEqual(['note'])
    expect(await names('building')).toEqual(['note', 'hurry'])
  })

  test('continues after a pause where it was', async () => {
    // Slow: it must not come to its end between its first part and the stop.
    const first = launch('tour', { params: { pace: 'slow' } })
    await first.start()
    await first.untilRequest('confirm-plan')
    await first.answer('confirm-plan', { go: true })
    await first.until('one part', () => (first.json('checkpoint.json')?.['built'] ? true : undefined))
    await first.call('resolver.stop', { reason: 'pause_requested' })
    expect(await first.result()).toMatchObject({ status: 'paused' })
    const built = first.json('checkpoint.json')?.['built'] as number
    expect(built).toBeLessThan(4)

    const second = launch('tour', { params: { pace: 'slow' }, dir: first.dir })
    await second.start(true)
    await second.untilEvent('resolver:phase')
    await second.call('resolver.message', { message_type: 'hurry', payload: { really: true }, number: 2 })
    expect(await second.result()).toMatchObject({ status: 'completed', output: 'Built a lighthouse' })
    const parts = second.events().filter(({ event_type }) => event_type === 'resolver:progress')
    expect(parts.filter(({ data }) => data['milestone'] === 'foundations')).toHaveLength(1)
    expect(second.types().filter((type) => type === 'resolver:created')).toHaveLength(1)
  })

  test('a rejected plan ends the run', async () => {
    const resolver = launch('tour', { params: instant })
    await resolver.start()
    await resolver.untilRequest('confirm-plan')
    await resolver.answer('confirm-plan', { go: false })
    expect(await resolver.result()).toMatchObject({
      output: 'Nothing was built: the plan for a bridge was turned down',
    })
  })
})
