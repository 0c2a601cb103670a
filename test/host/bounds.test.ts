/** Limits on the messages and questions of one instance: they cannot fill the memory of its host or readers. */
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SealedPayloads } from '../../src/core/host/launch/sealed-payloads.ts'
import { Ledger } from '../../src/core/host/ledger/ledger.ts'
import { openCoordination } from '../../src/core/host/lifecycle/unusable-coordination.ts'
import { acceptMessage } from '../../src/core/host/requests/accept.ts'
import { SentFiles } from '../../src/core/host/requests/publish.ts'
import { INPUT_REQUESTS_MAX_BYTES, MESSAGES_MAX_BYTES, PAGE_MAX_BYTES } from '../../src/core/limits.ts'
import type { MessageType } from '../../src/core/protocol/instance.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { LocalDriver } from '../../src/core/worker/local/local.ts'
import { created, eventsOf, ranToEnd, temporaryHome } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'

let home: string
beforeAll(() => {
  home = temporaryHome()
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

test('the number of messages is limited, they are listed in pages, and a repeated one is recognized at once', async () => {
  const id = await created(home, plainResolver(''))
  const paths = instancePaths(home, id)
  const coordination = openCoordination(new LocalDriver(paths))
  const ledger = await Ledger.open(paths)
  const sealed = new SealedPayloads(home, ledger)
  const context = { ledger, coordination, files: new SentFiles(coordination), sealed }
  const types: MessageType[] = [
    { name: 'note', label: 'Note', description: '', schema: { type: 'form', components: [] } },
  ]
  const text = 'x'.repeat(1_000_000)
  const say = (key: string) => acceptMessage(context, types, 'note', { text }, { actor: 'ada', via: 'http', key })
  const most = Math.floor(MESSAGES_MAX_BYTES / 1_000_200)
  for (let n = 1; n <= most; n += 1) expect(say(`key ${n}`)).toBe(n)
  expect(() => say('one more')).toThrow('The inbox of the instance has')
  expect(say('key 3')).toBe(3)
  // Another host, which has seen none of them, knows as much.
  ledger.close()
  context.ledger = await Ledger.open(paths)
  expect(say('key 3')).toBe(3)
  expect(() => say('one more')).toThrow('The inbox of the instance has')
  context.ledger.close()
  coordination.close()
  const platform = await platformOn(home)
  const numbers: number[] = []
  for (let after = 0; ; after = numbers.at(-1) ?? 0) {
    const page = await platform.messages(id, { after })
    if (page.length === 0) break
    expect(page.length).toBeLessThanOrEqual(PAGE_MAX_BYTES / 1_000_000)
    numbers.push(...page.map((message) => message.number))
  }
  expect(numbers).toEqual(Array.from({ length: most }, (_, index) => index + 1))
  await platform.close()
})

test('the questions of an instance have a common size limit; one too many is refused, and the run goes on', async () => {
  const options = "Array.from({ length: 1000 }, (_, n) => ({ value: 'v' + n, label: 'x'.repeat(900) }))"
  const schema = `{ type: 'form', components: [{ type: 'select', id: 'one', options: ${options} }] }`
  const behaviour = `for (let n = 0; n < 24; n += 1) me.ask('q' + n, '?', ${schema})
    while (!fs.readdirSync(root + '/input-requests').some((name) => name.endsWith('.error.json'))) await sleep(20)
    me.finish({ status: 'completed' })`
  const { id, story } = await ranToEnd(home, plainResolver(behaviour))
  expect(story.status).toBe('completed')
  const bytes = story.requests.reduce((sum, request) => sum + JSON.stringify(request.schema).length, 0)
  expect(bytes).toBeLessThanOrEqual(INPUT_REQUESTS_MAX_BYTES)
  expect(story.requests.length).toBeGreaterThan(10)
  const refused = eventsOf(home, id).filter(({ event }) => event.event_type === 'platform.event.rejected')
  expect(refused.map(({ event }) => event.data['reason'])).toContain('input_request')
})
