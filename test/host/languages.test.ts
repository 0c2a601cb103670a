/** The contract is the protocol, not our SDK: resolvers in Python, bash and one TypeScript file run whole (R40). */
import { beforeAll, describe, expect, test } from 'vitest'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import { fixture } from '../support/fixtures.ts'
import { created, eventsOf, ranToEnd, statusesOf, storyOf, temporaryHome, until } from '../support/instances.ts'

let home: string
beforeAll(() => {
  home = temporaryHome()
})

const ACTOR = { actor: 'tester', via: 'cli' } as const

const LANGUAGES = [
  { name: 'python-plain', input: { greeting: 'Ahoj' }, answer: { name: 'Ada' }, output: 'Ahoj, Ada! (first, second)' },
  {
    name: 'bash-plain',
    input: { thing: 'boat' },
    answer: { colour: 'blue' },
    output: 'Painted the boat blue, with 2 notes',
  },
]

// verifies: S-SVC-02 S-SVC-04 S-SVC-09 S-SVC-12 S-MAN-12
describe.each(LANGUAGES)('$name', ({ name, input, answer, output }) => {
  test('runs, asks, receives a message, pauses, resumes, receives another, gets its answer and completes', async () => {
    const id = await created(home, fixture(name), input)
    const hosts = new HostProcess(home)
    const first = await hosts.own(id)
    await until(home, id, (story) => story.status === 'awaiting_input')
    expect((await first?.messageTypes())?.map((type) => type.name)).toEqual(['note'])
    await first?.message('note', { text: 'first' }, ACTOR)
    await until(home, id, () => eventsOf(home, id).some(({ event }) => event.event_type === `${name}.noted`))
    first?.pause()
    await hosts.over(id)
    expect(storyOf(home, id).status).toBe('paused')
    const second = await hosts.own(id, (ledger) => ledger.move('running', { reason: 'resumed' }))
    await until(home, id, (story) => story.status === 'awaiting_input')
    await second?.message('note', { text: 'second' }, ACTOR)
    await until(
      home,
      id,
      () => eventsOf(home, id).filter(({ event }) => event.event_type === `${name}.noted`).length === 2,
    )
    second?.answer(storyOf(home, id).requests[0]?.id as string, answer, ACTOR)
    await hosts.over(id)
    await hosts.close()
    expect(storyOf(home, id)).toMatchObject({ status: 'completed', output })
    const completions = eventsOf(home, id).filter(({ event }) => event.event_type === 'resolver:completed')
    expect(completions).toHaveLength(2)
    expect(eventsOf(home, id).filter(({ event }) => event.event_type === 'resolver:created')).toHaveLength(1)
  })

  test('stops when it is asked to', async () => {
    const id = await created(home, fixture(name), input)
    const hosts = new HostProcess(home)
    const host = await hosts.own(id)
    await until(home, id, (story) => story.status === 'awaiting_input')
    host?.stop('stop', 'enough', false)
    await hosts.over(id)
    await hosts.close()
    expect(storyOf(home, id).history.at(-1)).toMatchObject({ status: 'cancelled', reason: 'enough' })
    expect(statusesOf(home, id)).toEqual(['created', 'starting', 'running', 'awaiting_input', 'cancelled'])
  })
})

test('one TypeScript file in a folder without node_modules imports the SDK and runs without a build step', async () => {
  const { story, id } = await ranToEnd(home, fixture('single-file-ts'), { left: '2', right: '3' })
  expect(story, JSON.stringify(story.error)).toMatchObject({ status: 'completed', output: '2 + 3 = 5' })
  expect(eventsOf(home, id).map(({ event }) => event.event_type)).toContain('resolver:created')
})
