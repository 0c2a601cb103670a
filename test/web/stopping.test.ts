/** A stop in the page while the worker does not end: what was sent, what is sent next and when, and the button that kills it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import {
  callerOf,
  createInstance,
  newToken,
  openContext,
  type Server,
  signedIn,
  startServer,
  untilStatus,
} from './stand.ts'
import { describePage } from './support.ts'

const stays = plainResolver(
  `process.on('SIGTERM', () => {}); me.emit('resolver:phase', { name: 'staying' }); await new Promise(() => setInterval(() => {}, 60_000))`,
  { name: 'stays' },
)

describePage('the page: a stop', () => {
  let server: Server

  beforeAll(async () => {
    server = await startServer([stays])
  })
  afterAll(() => server.close())

  // verifies: R57
  test('a stop that takes its time counts down in words, and "Kill it now" ends it', { timeout: 90_000 }, async () => {
    const token = await newToken(server.home)
    const call = callerOf(server, token)
    const id = await createInstance(call, 'stays')
    const { context, complaints } = await openContext()
    const page = await signedIn(context, server, token)
    await page.goto(`${server.url}/instances/${id}/timeline`)
    await page.locator('.event-text').getByText('phase staying').waitFor()
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByLabel('Reason').fill('it takes too long')
    await page.getByRole('button', { name: 'Stop it' }).click()

    const words = page.getByText(/^Asked to stop; SIGTERM in \d+ s, SIGKILL in \d+ s\.$/)
    await words.waitFor()
    const secondsLeft = async () => {
      const [, term, kill] = /SIGTERM in (\d+) s, SIGKILL in (\d+) s/.exec((await words.textContent()) ?? '') ?? []
      return { term: Number(term), kill: Number(kill) }
    }
    const first = await secondsLeft()
    expect(first.kill - first.term).toBe(10)
    await expect.poll(async () => (await secondsLeft()).term).toBeLessThan(first.term)

    await page.getByRole('button', { name: 'Kill it now' }).click()
    await untilStatus(call, id, 'cancelled')
    await words.waitFor({ state: 'detached' })
    expect(await call('GET', `/instances/${id}`)).toMatchObject({ status: 'cancelled' })
    expect(complaints).toEqual([])
    await context.close()
  })
})
