/** The page of a run: its overview, waterfall, logs, events in the address, and the dock of questions. */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import { findings } from './findings.ts'
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

const LIMIT = 90_000

const breaks = plainResolver(
  `
  me.emit('resolver:phase', { name: 'reading' })
  fs.writeSync(1, 'noise on stdout\\n')
  fs.writeSync(2, '\\u001b[31mTypeError: cannot read the plan\\u001b[0m\\n    at read (plan.js:7:3)\\n')
  await me.ask('stay', 'Go on to the failure?')
  me.finish({ status: 'failed', error: 'The plan cannot be read' })
`,
  { name: 'breaks' },
)

const asksFour = plainResolver(
  `
  for (let at = 0; at < 12; at += 1) me.emit('resolver:progress', { milestone: 'draft', fraction: at / 12, label: 'Drafting' })
  me.emit('resolver:phase', { name: 'asking' })
  me.emit('pipeline.node_start', { node_id: 'write', handler: 'agent' })
  me.emit('pipeline.node_complete', { node_id: 'write', status: 'success' })
  await Promise.all(['one', 'two', 'three', 'four'].map((id) => me.ask(id, 'Is **' + id + '** right?')))
  me.emit('resolver:artifact', { kind: 'pr', value: 'https://example.org/pull/7' })
  me.emit('resolver:artifact', { kind: 'verdict', value: 'ready' })
  me.finish({ status: 'completed', output: 'All four are right' })
`,
  { name: 'asks-four' },
)

describePage('the page of a run', () => {
  let server: Server
  let call: Caller

  beforeAll(async () => {
    server = await startServer([breaks, asksFour])
    call = callerOf(server, await newToken(server.home))
  }, LIMIT)
  afterAll(() => server.close())

  test(
    'a failed run shows its sentence, the last lines of stderr and a link into the logs, which can be searched and saved',
    async () => {
      const { context, complaints } = await openContext()
      const page = await signedIn(context, server)
      const id = await createInstance(call, 'breaks')
      await untilStatus(call, id, 'awaiting_input')
      await call('POST', `/instances/${id}/input-requests/stay`, {})
      await untilStatus(call, id, 'failed')
      await page.goto(`${server.url}/instances/${id}`)
      await page.waitForURL(/\/overview$/)
      const failure = page.getByRole('region', { name: 'Why it failed' })
      await failure.getByText('The plan cannot be read').waitFor()
      await failure.getByText('TypeError: cannot read the plan').waitFor()
      await failure.getByText('at read (plan.js:7:3)').waitFor()
      expect(await failure.getByText('noise on stdout').count()).toBe(0)
      await failure.getByRole('link', { name: 'Open the logs' }).click()
      const log = page.locator('[data-log]')
      await log.locator('.ansi-red').getByText('TypeError').waitFor()
      expect(await log.getByText('noise on stdout').count()).toBe(0)
      await page.getByLabel('Source').selectOption('')
      await log.getByText('noise on stdout').waitFor()
      await page.getByLabel('Search the log').fill('PLAN.JS')
      await expect.poll(() => log.locator('.log-line').count()).toBe(1)
      expect(page.url()).toContain('q=PLAN.JS')
      const download = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Download' }).click()
      const saved = await readFile(await (await download).path(), 'utf8')
      expect(saved).toMatch(/^\S+ stdout {3}noise on stdout$/m)
      expect(saved).toMatch(/^\S+ stderr {3}TypeError: cannot read the plan$/m)
      expect(complaints).toEqual([])
      await context.close()
    },
    LIMIT,
  )

  test(
    'four questions are answered one after the other beside the events, and the overview tells who decided',
    async () => {
      const { context, complaints } = await openContext({ viewport: { width: 1440, height: 900 } })
      const page = await signedIn(context, server)
      const id = await createInstance(call, 'asks-four')
      await untilStatus(call, id, 'awaiting_input')
      await page.goto(`${server.url}/instances/${id}/timeline`)
      const dock = page.getByRole('complementary', { name: 'Questions' })
      const shown = dock.locator('section[data-request-id]:not([hidden])')
      await dock.getByText('Question 1 of 4').waitFor()
      expect(await shown.count()).toBe(1)
      // Four questions that are asked at the same time come in any order.
      const all = await dock
        .locator('section[data-request-id]')
        .evaluateAll((cards) => cards.map((card) => (card as HTMLElement).dataset['requestId'] ?? ''))
      const [first, second, ...rest] = all
      expect(await shown.locator('strong').textContent()).toBe(first)
      const [events, questions] = [await page.locator('.timeline-box').boundingBox(), await dock.boundingBox()]
      expect(questions?.x).toBeGreaterThan((events?.x ?? 0) + (events?.width ?? 0))
      await dock.getByRole('button', { name: 'Next' }).click()
      await dock.getByText('Question 2 of 4').waitFor()
      expect(await shown.getAttribute('data-request-id')).toBe(second)
      await shown.getByRole('button', { name: 'Answer' }).click()
      await dock.getByText('Question 1 of 3').waitFor()
      // The keyboard goes on with the next question.
      await expect.poll(() => page.evaluate('document.activeElement.className')).toContain('question-text')
      await dock.getByText('1 answered question').waitFor()
      await dock.getByRole('button', { name: /^Question \d of/ }).click()
      expect(await shown.count()).toBe(0)
      await dock.getByRole('button', { name: /^Question \d of/ }).click()
      expect(await findings(page)).toEqual([])
      for (const one of [first, ...rest]) {
        await dock.locator(`[data-request-id="${one}"]`).getByRole('button', { name: 'Answer' }).click()
        await dock.locator(`section[data-request-id="${one}"]`).waitFor({ state: 'detached' })
      }
      await page.getByRole('tab', { name: 'Overview' }).click()
      await page.locator(`[data-decision="${second}"]`).getByText('Answered by tester (page)').waitFor()
      const pull = page.locator('[data-artifact="pr"] a')
      expect(await pull.getAttribute('href')).toBe('https://example.org/pull/7')
      expect(await pull.getAttribute('rel')).toContain('noreferrer')
      await page.locator('[data-artifact="verdict"]').getByText('ready').waitFor()
      expect(complaints).toEqual([])
      await context.close()
    },
    LIMIT,
  )

  test(
    'the waterfall shows phases, nodes and waits, zooms, and opens an inspector; repeated progress is one line of the events',
    async () => {
      const { context, complaints } = await openContext()
      const page = await signedIn(context, server)
      const id = await createInstance(call, 'asks-four')
      await untilStatus(call, id, 'awaiting_input')
      await page.goto(`${server.url}/instances/${id}/waterfall`)
      const chart = page.getByRole('region', { name: 'Waterfall' })
      for (const name of ['Workers', 'Phases', 'Nodes', 'Waits for people'])
        await chart.getByRole('region', { name }).locator('.bar-row').first().waitFor()
      const bar = chart.getByRole('region', { name: 'Nodes' }).locator('.bar-row')
      await bar.click()
      const inspector = page.locator('.bar-inspector')
      await inspector.getByText('agent').waitFor()
      expect(page.url()).toMatch(/bar=node-\d+/)
      const width = () => chart.locator('.waterfall-inner').evaluate((inner) => inner.clientWidth)
      const before = await width()
      await page.getByRole('button', { name: 'Zoom in' }).click()
      await expect.poll(width).toBeGreaterThan(before * 1.5)
      expect(await findings(page)).toEqual([])
      await inspector.getByRole('link', { name: 'Show its event' }).click()
      await page.locator('.event-more').getByText('pipeline.node_start').waitFor()
      await page.getByText('and 11 before it').waitFor()
      await page.getByLabel('Search the events').fill('drafting')
      await expect.poll(() => page.locator('.event').count()).toBe(12)
      await page.getByLabel('Platform').uncheck()
      await expect.poll(() => page.url()).toMatch(/hide=1/)
      await page.reload()
      await expect.poll(() => page.locator('.event').count()).toBe(12)
      expect(await page.getByLabel('Platform').isChecked()).toBe(false)
      expect(complaints).toEqual([])
      await context.close()
    },
    LIMIT,
  )
})
