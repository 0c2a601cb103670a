/** Holds what must survive: a server that is killed, two pages on one question, a token that ends, a flood of events, many pages. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import {
  type Caller,
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

const QUESTION = `{ type: 'form', components: [
  { type: 'textarea', id: 'text', label: 'Your words' },
  { type: 'checkbox', id: 'sure', label: 'Sure' },
] }`

/** Asks, and tells numbered events meanwhile: 50 a second. */
const chatty = plainResolver(
  `
  let n = 0
  const timer = setInterval(() => me.emit('chatty.tick', { n: (n += 1) }), 20)
  const { text } = await me.ask('words', 'What do you say?', ${QUESTION})
  clearInterval(timer)
  me.emit('resolver:completed', { outcome: 'success', summary: 'said', duration_s: 0, artifact_count: 0 })
  me.finish({ status: 'completed', output: 'You said: ' + text })
`,
  { name: 'chatty' },
)

/** A tick every 200 ms until it is stopped. */
const ticker = plainResolver(
  `
  let n = 0
  const timer = setInterval(() => me.emit('ticker.tick', { n: (n += 1) }), 200)
  await me.stopped
  clearInterval(timer)
  me.finish({ status: 'cancelled' })
`,
  { name: 'ticker' },
)

/** Writes the same file twice, and says so each time. */
const writer = plainResolver(
  `
  fs.mkdirSync(root + '/data', { recursive: true })
  for (const word of ['first', 'second']) {
    fs.writeFileSync(root + '/data/plan.txt', 'the ' + word + ' text')
    me.emit('writer.data_changed', { paths: ['plan.txt'] })
    await me.ask(word, 'Go on?')
  }
  me.finish({ status: 'completed' })
`,
  { name: 'writer' },
)

const words = (page: Page) => page.getByLabel('Your words')
const status = (page: Page, name: string) => page.locator(`.instance-line .status[data-status="${name}"]`)
const connection = (page: Page, name: string) => page.locator(`[data-connection="${name}"]`)
const eventCount = async (page: Page) =>
  Number.parseInt((await page.locator('[data-event-count]').textContent()) ?? '', 10)

/** Milliseconds for a test: the machine may be busy with others. */
const LIMIT = 90_000

describePage('the page: live', () => {
  let server: Server
  let call: Caller
  let token: string

  beforeAll(async () => {
    server = await startServer([chatty, ticker, writer])
    token = await newToken(server.home)
    call = callerOf(server, token)
  })
  afterAll(() => server.close())

  // verifies: S-EVT-11 R19
  test(
    'data is read after data_changed and is not polled',
    async () => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      const id = await createInstance(call, 'writer')
      await untilStatus(call, id, 'awaiting_input')
      let lists = 0
      page.on('request', (request) => {
        if (request.url().endsWith(`/instances/${id}/data`)) lists += 1
      })
      await page.goto(`${server.url}/instances/${id}/data`)
      await page.getByText('the first text').waitFor()
      const before = lists
      // One more may be on its way, for the event that came with the page.
      await page.waitForTimeout(8_000)
      expect(lists - before).toBeLessThanOrEqual(1)
      await call('POST', `/instances/${id}/input-requests/first`, {})
      await page.getByText('the second text').waitFor()
      expect(lists).toBeGreaterThan(1)
      await context.close()
    },
    LIMIT,
  )

  // verifies: S-EVT-01, R15
  test(
    'when the server is killed the half-typed answer stays, and after its restart no event is missing or doubled',
    async () => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      const id = await createInstance(call, 'chatty')
      await page.goto(`${server.url}/instances/${id}/timeline`)
      await words(page).fill('Half a sent')
      await connection(page, 'live').waitFor()
      await server.kill()
      await page.locator('[data-connection="reconnecting"], [data-connection="offline"]').first().waitFor()
      await connection(page, 'offline').waitFor()
      expect(await words(page).inputValue()).toBe('Half a sent')
      server = await startServer([], server.home, server.port)
      call = callerOf(server, token)
      await connection(page, 'live').waitFor()
      expect(await words(page).inputValue()).toBe('Half a sent')
      await page.reload()
      expect(await words(page).inputValue()).toBe('Half a sent')
      await words(page).press('Control+End')
      await words(page).pressSequentially('ence')
      await page.getByRole('button', { name: 'Answer' }).click()
      await status(page, 'completed').waitFor()
      await page.getByRole('tab', { name: 'Overview' }).click()
      await page.getByText('You said: Half a sentence').waitFor()
      await connection(page, 'ended').waitFor()
      await page.getByRole('tab', { name: 'Raw' }).click()
      const download = page.waitForEvent('download')
      await page.getByRole('button', { name: /Save all/ }).click()
      const lines = await textOf(await (await download).createReadStream())
      const shown = lines.trim().split('\n')
      const events = await fetch(`${server.url}/api/instances/${id}/events`, {
        headers: { authorization: `Bearer ${token}` },
      })
      const journal = [...(await events.text()).matchAll(/^id: ?(\d+)\ndata: ?(.*)$/gm)].map(([, , data]) => data ?? '')
      expect(shown).toEqual(journal)
      await context.close()
    },
    LIMIT,
  )

  // verifies: R25
  test(
    'of two pages that answer one question the first wins, the other names the winner and keeps its text',
    async () => {
      const { context } = await openContext()
      const first = await signedIn(context, server)
      const id = await createInstance(call, 'chatty')
      await first.goto(`${server.url}/instances/${id}/timeline`)
      const second = await context.newPage()
      await second.goto(`${server.url}/instances/${id}/timeline`)
      await words(first).fill('from the first')
      await words(second).fill('from the second')
      await first.getByRole('button', { name: 'Answer' }).click()
      await status(first, 'completed').waitFor()
      const gone = second.locator('[data-request-id="words"]')
      await gone.getByText('“words” was answered by tester (page). The text that you typed was not sent.').waitFor()
      await gone.getByRole('button', { name: 'Copy what I typed' }).waitFor()
      expect(await first.getByText('was answered by').count()).toBe(0)
      await second.getByRole('tab', { name: 'Overview' }).click()
      await second.getByText('You said: from the first').waitFor()
      await context.close()
    },
    LIMIT,
  )

  test(
    'of two simultaneous answers the second shows who was first',
    async () => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      const id = await createInstance(call, 'chatty')
      await page.goto(`${server.url}/inbox`)
      const card = page.locator('[data-request-id="words"]').filter({ hasText: id })
      await card.getByLabel('Your words').fill('late')
      await page.route('**/input-requests/words', async (route) => {
        if (route.request().method() === 'POST')
          await call('POST', `/instances/${id}/input-requests/words`, { text: 'early' })
        await route.continue()
      })
      await card.getByRole('button', { name: 'Answer' }).click()
      await card.getByRole('alert').waitFor()
      expect(await card.getByRole('alert').textContent()).toMatch(/tester/)
      await untilStatus(call, id, 'completed')
      await context.close()
    },
    LIMIT,
  )

  // verifies: R37
  test(
    'when the token expires during typing the user signs in again and goes on typing',
    async () => {
      const { context } = await openContext()
      // It must not end before the text is typed.
      const short = await newToken(server.home, 'admin', 15_000)
      const page = await signedIn(context, server, short)
      const id = await createInstance(call, 'chatty')
      await page.goto(`${server.url}/instances/${id}/timeline`)
      await words(page).fill('Before it ended')
      await page.getByText('Your access has ended').waitFor({ timeout: 30_000 })
      expect(page.url()).toContain(id)
      await page.getByLabel('Access token').fill(token)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await words(page).waitFor()
      expect(await words(page).inputValue()).toBe('Before it ended')
      await page.getByRole('button', { name: 'Answer' }).click()
      await status(page, 'completed').waitFor()
      await context.close()
    },
    LIMIT,
  )

  test(
    'with 50 events a second no key is lost',
    async () => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      const id = await createInstance(call, 'chatty')
      await page.goto(`${server.url}/instances/${id}/timeline`)
      await words(page).focus()
      await connection(page, 'live').waitFor()
      const sentence = 'The quick brown fox jumps over the lazy dog and types on. '
      const before = await eventCount(page)
      const came = async () => (await eventCount(page)) - before
      let text = ''
      // Until so many events came meanwhile that typing was really disturbed.
      while (text.length < sentence.length * 6 || (await came()) < 100) {
        await page.keyboard.type(sentence, { delay: 8 })
        text += sentence
      }
      expect(await words(page).inputValue()).toBe(text)
      process.stderr.write(`typed ${text.length} keys while ${await came()} events came; none was dropped\n`)
      await page.getByRole('button', { name: 'Answer' }).click()
      await status(page, 'completed').waitFor()
      await context.close()
    },
    LIMIT,
  )

  test(
    'seven open pages stay live, and there is room for more requests',
    async () => {
      const { context } = await openContext()
      const id = await createInstance(call, 'ticker')
      await untilStatus(call, id, 'running')
      const pages = [await signedIn(context, server)]
      while (pages.length < 7) pages.push(await context.newPage())
      await Promise.all(pages.map((page) => page.goto(`${server.url}/instances/${id}/timeline`)))
      for (const page of pages) await connection(page, 'live').waitFor()
      const before = await Promise.all(pages.map(eventCount))
      for (const [at, page] of pages.entries()) {
        await expect.poll(() => eventCount(page)).toBeGreaterThan((before[at] ?? 0) + 5)
      }
      const last = pages.at(-1)
      await last?.getByRole('tab', { name: 'State' }).click()
      await last?.getByText('The resolver has saved no state yet.').waitFor()
      await last?.getByRole('button', { name: 'Stop' }).click()
      await last?.getByLabel('Reason').fill('seen enough')
      await last?.getByRole('button', { name: 'Stop it' }).click()
      for (const page of pages) {
        await status(page, 'cancelled').waitFor()
        await connection(page, 'ended').waitFor()
      }
      await context.close()
    },
    LIMIT,
  )

  test(
    'a page hidden for a minute closes its stream, and continues where it was',
    async () => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      const id = await createInstance(call, 'ticker')
      const streams: string[] = []
      page.on('request', (request) => {
        if (request.url().includes('/events?')) streams.push(request.url())
      })
      let ended = 0
      page.on('requestfailed', (request) => {
        if (request.url().includes('/events?')) ended += 1
      })
      await page.clock.install()
      await page.goto(`${server.url}/instances/${id}/timeline`)
      await connection(page, 'live').waitFor()
      await expect.poll(() => eventCount(page)).toBeGreaterThan(4)
      const look = (state: string) =>
        page.evaluate(`Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' })
        document.dispatchEvent(new Event('visibilitychange'))`)
      await look('hidden')
      await page.clock.runFor(30_000)
      expect(ended).toBe(0)
      await page.clock.runFor(35_000)
      await expect.poll(() => streams.length - ended).toBe(0)
      const before = streams.length
      await page.clock.runFor(120_000)
      expect(streams.length).toBe(before)
      const seen = await eventCount(page)
      await look('visible')
      await expect.poll(() => eventCount(page)).toBeGreaterThan(seen)
      expect(streams.at(-1)).toMatch(/after=[1-9]/)
      await call('DELETE', `/instances/${id}`)
      await context.close()
    },
    LIMIT,
  )

  test(
    'unavailable actions show why, and pause, resume and cancel work',
    async () => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      const id = await createInstance(call, 'ticker')
      await page.goto(`${server.url}/instances/${id}/timeline`)
      await status(page, 'running').waitFor()
      const pause = page.getByRole('button', { name: 'Pause' })
      expect(await pause.getAttribute('aria-disabled')).toBe('true')
      expect(await page.locator('#why-pause').textContent()).toMatch(/can’t be paused/)
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('button', { name: 'Cancel it' }).click()
      await status(page, 'cancelled').waitFor()
      const tour = await createInstance(call, 'tour', { pace: 'slow' })
      await page.goto(`${server.url}/instances/${tour}/timeline`)
      await page.locator('[data-request-id="confirm-plan"]').getByRole('button', { name: 'Answer' }).click()
      await page.getByText('Building the foundations').first().waitFor()
      await page.getByRole('button', { name: 'Pause' }).click()
      await status(page, 'paused').waitFor()
      await page.getByRole('button', { name: 'Resume' }).click()
      await status(page, 'awaiting_input').or(status(page, 'running')).waitFor()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('button', { name: 'Cancel it' }).click()
      await status(page, 'cancelled').waitFor()
      await context.close()
    },
    LIMIT,
  )

  test(
    'the message types of the phase are shown, and messages are checked, sent and listed',
    async () => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      const id = await createInstance(call, 'tour')
      await page.goto(`${server.url}/instances/${id}/messages`)
      await status(page, 'awaiting_input').waitFor()
      const kind = page.getByLabel('Kind of message')
      await kind.waitFor()
      expect(await kind.locator('option').allTextContents()).toEqual(['Leave a note'])
      const tab = page.getByRole('tabpanel')
      await tab.getByRole('button', { name: 'Send' }).click()
      await tab.getByRole('alert').waitFor()
      await tab.getByLabel('Note').fill('Bring a ladder')
      await tab.getByRole('button', { name: 'Send' }).click()
      await tab.getByText('Sent.').waitFor()
      await tab.getByRole('definition').getByText('Bring a ladder').waitFor()
      expect(await tab.getByLabel('Note').inputValue()).toBe('')
      await call('DELETE', `/instances/${id}`)
      await context.close()
    },
    LIMIT,
  )
})

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const bytes of stream) text += String(bytes)
  return text
}
