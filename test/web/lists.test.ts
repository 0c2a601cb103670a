/** Holds the list of instances, the comparison, the keys and what an unreachable server changes, in a browser at a real server. */
import { mkdirSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findings } from './findings.ts'
import { fails, pipeline, type Stage, setStage } from './stage.ts'
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

const LIMIT = 120_000

const rows = (page: Page) => page.locator('[data-instance]')
const row = (page: Page, id: string) => page.locator(`[data-instance="${id}"]`)
const focused = (page: Page) => page.evaluate('document.activeElement.textContent')

describePage('the page: lists and keys', () => {
  let server: Server
  let stage: Stage
  let call: Caller

  beforeAll(async () => {
    server = await startServer([pipeline, fails])
    call = callerOf(server, await newToken(server.home))
    stage = await setStage(call)
  }, LIMIT)
  afterAll(() => server.close())

  test(
    'tabs count, filters stand in the address, and rows tell progress and the reason of a failure',
    async () => {
      const { context, complaints } = await openContext()
      const page = await signedIn(context, server)
      await page.goto(`${server.url}/instances`)
      await row(page, stage.failed).getByText('The repository has no tests').waitFor()
      await row(page, stage.piped).getByText('60 %').waitFor()
      const counts = () => page.locator('.tab').allInnerTexts()
      await expect.poll(counts).toEqual(['Needs you 1', 'Active 2', 'Done 1', 'Failed 1', 'All 4'])
      // Those that go on come before those that have ended.
      const order = () => rows(page).evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset['instance']))
      expect((await order()).slice(0, 2).toSorted()).toEqual([stage.asking, stage.piped].toSorted())
      await page.getByRole('button', { name: 'Filters' }).click()
      await page.getByRole('combobox', { name: /^Resolver/ }).selectOption('tour')
      await expect.poll(counts).toEqual(['Needs you 1', 'Active 1', 'Done 1', 'Failed 0', 'All 2'])
      await page.getByLabel('Order').selectOption('oldest')
      await page.getByLabel('Exact name').fill('Lighthouse')
      await page.getByLabel('Exact name').press('Enter')
      await expect.poll(order).toEqual([stage.done])
      expect(new URL(page.url()).search).toBe('?tab=all&resolver=tour&name=Lighthouse&order=oldest')
      await page.reload()
      await expect.poll(order).toEqual([stage.done])
      expect(await findings(page)).toEqual([])
      expect(complaints).toEqual([])
      await context.close()
    },
    LIMIT,
  )

  test(
    'selected instances are stopped and removed, and rows wait for the pointer to leave',
    async () => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      const first = await createInstance(call, 'report')
      const second = await createInstance(call, 'report')
      for (const id of [first, second]) await untilStatus(call, id, 'running')
      await page.goto(`${server.url}/instances`)
      for (const id of [first, second]) await row(page, id).getByRole('checkbox').check()
      const third = await createInstance(call, 'report')
      await page.getByRole('button', { name: 'Show 1 new' }).waitFor()
      expect(await row(page, third).count()).toBe(0)
      await page.getByRole('button', { name: 'Stop 2' }).click()
      await page.getByRole('button', { name: 'Stop them' }).click()
      await page.getByText('2 of 2 instances were asked to stop.').waitFor()
      for (const id of [first, second]) await untilStatus(call, id, 'cancelled')
      // The button of the dialog was above the rows: the pointer is still on them.
      await page.mouse.move(0, 0)
      await row(page, third).waitFor()
      for (const id of [first, second]) {
        await row(page, id).locator('[data-status="cancelled"]').waitFor()
        await row(page, id).getByRole('checkbox').check()
      }
      // Its host closes its files a moment after the end.
      await expect
        .poll(
          async () => {
            const remove = page.getByRole('button', { name: /^Remove \d/ })
            if ((await remove.count()) > 0) {
              await remove.click()
              await page.getByRole('button', { name: 'Remove them' }).click()
              await page.getByText(/of \d instances? (was|were) removed/).waitFor()
            }
            return (await row(page, first).count()) + (await row(page, second).count())
          },
          { timeout: 30_000, interval: 1_000 },
        )
        .toBe(0)
      await call('POST', `/instances/${third}/stop`, { force: true })
      await context.close()
    },
    LIMIT,
  )

  test(
    'two runs are compared: input, phases and output, and a repeated run names its parent',
    async () => {
      const { context, complaints } = await openContext()
      const page = await signedIn(context, server)
      const { instance_id: again } = await call<{ instance_id: string }>('POST', `/instances/${stage.done}/retry`, {
        input: { subject: 'a harbour' },
      })
      await page.goto(`${server.url}/instances`)
      await row(page, again).getByText('repeats').waitFor()
      await row(page, again)
        .getByRole('link', { name: /^compare/ })
        .click()
      await page.getByRole('heading', { name: 'Input' }).waitFor()
      const changed = page.locator('tr[data-differs]').filter({ hasText: 'subject' })
      expect(await changed.locator('td').allInnerTexts()).toEqual(['a lighthouse', 'a harbour'])
      await page.getByRole('row', { name: /planning/ }).waitFor()
      expect(await findings(page)).toEqual([])
      await page.goto(`${server.url}/instances/compare?left=odd&right=../x`)
      await page.getByText('The address must name two instances').waitFor()
      expect(complaints).toEqual([])
      await call('DELETE', `/instances/${again}`)
      await context.close()
    },
    LIMIT,
  )

  test(
    'keys alone lead to help, search, rows, another screen, and through two questions of the inbox',
    async () => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      const other = await createInstance(call, 'tour', { subject: 'a pier', pace: 'instant' })
      await untilStatus(call, other, 'awaiting_input')
      await page.goto(`${server.url}/instances`)
      await row(page, other).waitFor()
      await page.keyboard.press('?')
      await page.getByRole('dialog').getByText('Next row or question').waitFor()
      expect(await findings(page, '.dialog')).toEqual([])
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.keyboard.press('j')
      const one = await focused(page)
      await page.keyboard.press('j')
      expect(await focused(page)).not.toBe(one)
      await page.keyboard.press('k')
      expect(await focused(page)).toBe(one)
      await page.keyboard.press('/')
      await page.keyboard.type('j?')
      expect(await page.getByRole('searchbox').inputValue()).toBe('j?')
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Go to' }).fill('light')
      await page.getByRole('option', { name: 'Lighthouse tour, completed' }).waitFor()
      expect(await findings(page, '.palette')).toEqual([])
      await page.getByRole('combobox', { name: 'Go to' }).fill('inbox')
      await page.getByRole('option', { name: /^Inbox/ }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Inbox' }).waitFor()
      // Asked first, answered first: the focus goes on to the question below.
      const cards = page.locator('[data-request-id]')
      await expect.poll(() => cards.count()).toBe(2)
      expect(await cards.first().innerText()).toContain('Bridge')
      await expect.poll(() => page.title()).toBe('(2) Inbox · resolve')
      expect(await page.locator('link[rel="icon"]').getAttribute('href')).toMatch(/^data:image\/svg/)
      await cards.first().locator('input, textarea').last().focus()
      await page.keyboard.press('Control+Enter')
      await expect.poll(() => cards.count()).toBe(1)
      expect(await page.evaluate('document.activeElement.closest("[data-request-id]") !== null')).toBe(true)
      await page.keyboard.press('Control+Enter')
      await page.getByText('No open questions.').waitFor()
      await expect.poll(() => page.title()).toBe('Inbox · resolve')
      await createInstance(call, 'tour', { subject: 'a tower' })
      await expect.poll(() => page.locator('[data-news]').textContent()).toMatch(/waits for an answer/)
      await context.close()
    },
    LIMIT,
  )

  test(
    'without a server actions are disabled and timers stand still; with it they go on and the notice is gone',
    async () => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      // A new one: the start screen lists the five last ones.
      const running = await createInstance(call, 'report')
      await untilStatus(call, running, 'running')
      await page.goto(`${server.url}/?resolver=tour`)
      await page.getByLabel('What to build').fill('a mill')
      await row(page, running).waitFor()
      const length = () => row(page, running).locator('.row-length').innerText()
      await page.route('**/api/**', (route) => route.abort())
      await page.locator('[data-offline-bar]').waitFor()
      const start = page.getByRole('button', { name: 'Start', exact: true })
      expect(await start.getAttribute('aria-disabled')).toBe('true')
      await page.getByText('What you typed is kept').waitFor()
      const before = await length()
      await page.waitForTimeout(2_500)
      expect(await length()).toBe(before)
      await page.unroute('**/api/**')
      await page.locator('[data-offline-bar]').waitFor({ state: 'detached' })
      expect(await start.getAttribute('aria-disabled')).toBeNull()
      expect(await page.getByLabel('What to build').inputValue()).toBe('a mill')
      await expect.poll(length).not.toBe(before)
      await context.close()
    },
    LIMIT,
  )

  const folder = process.env['RESOLVE_PICTURES']
  test.skipIf(folder === undefined)(
    'pictures of the lists',
    async () => {
      mkdirSync(folder ?? '', { recursive: true })
      for (const theme of ['light', 'dark'] as const) {
        for (const width of [1440, 1280, 820, 390]) {
          const { context } = await openContext({ colorScheme: theme, viewport: { width, height: 900 } })
          const page = await signedIn(context, server)
          for (const [name, path] of Object.entries({
            instances: '/instances?tab=all&resolver=tour',
            compare: `/instances/compare?left=${stage.done}&right=${stage.asking}`,
            inbox: '/inbox',
          })) {
            await page.goto(server.url + path)
            await page.waitForTimeout(900)
            if (name === 'instances') await rows(page).first().getByRole('checkbox').check()
            await page.screenshot({ path: `${folder}/${name}-${width}-${theme}.png` })
          }
          await context.close()
        }
      }
    },
    LIMIT,
  )
})
