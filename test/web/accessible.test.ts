/** Holds every screen to WCAG 2.2 AA as far as axe can tell, in both themes and on a narrow screen; and that motion can be done without. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findings } from './findings.ts'
import { fails, pipeline, type Stage, scenes, setStage } from './stage.ts'
import { callerOf, newToken, openContext, type Server, signedIn, startServer } from './stand.ts'
import { describePage } from './support.ts'

const LIMIT = 120_000

describePage('the page: accessible', () => {
  let server: Server
  let stage: Stage

  beforeAll(async () => {
    server = await startServer([pipeline, fails])
    stage = await setStage(callerOf(server, await newToken(server.home)))
  }, LIMIT)
  afterAll(() => server.close())

  for (const theme of ['light', 'dark'] as const) {
    test(
      `axe finds nothing on any screen: ${theme}`,
      async () => {
        const { context, complaints } = await openContext({ colorScheme: theme, reducedMotion: 'reduce' })
        const page = await signedIn(context, server)
        const found: Record<string, string[]> = {}
        for (const { name, path, ready } of scenes(stage)) {
          await page.goto(server.url + path)
          await ready(page)
          found[name] = await findings(page)
        }
        await page.goto(`${server.url}/?resolver=tour`)
        await page.getByLabel('Put up a plaque').check()
        await page.getByRole('button', { name: 'Start', exact: true }).click()
        await page.locator('.summary').waitFor()
        found['failing checks'] = await findings(page)
        await page.getByRole('combobox', { name: 'Resolver' }).click()
        await page.getByRole('option').first().waitFor()
        // What is around an open list is put aside by the library, for screen readers too.
        found['resolver list'] = [...(await findings(page, '.popup')), ...(await findings(page, '.picker-line'))]
        await page.goto(`${server.url}/instances/${stage.piped}/timeline`)
        await page.getByRole('button', { name: 'Stop' }).click()
        await page.getByLabel('Reason').waitFor()
        found['dialog'] = await findings(page)
        const stranger = await (await openContext({ colorScheme: theme })).context.newPage()
        await stranger.goto(server.url)
        await stranger.getByLabel('Access token').waitFor()
        found['sign-in'] = await findings(stranger)
        expect(Object.entries(found).filter(([, what]) => what.length > 0)).toEqual([])
        expect(complaints).toEqual([])
        await context.close()
      },
      LIMIT,
    )
  }

  test(
    'at 320 px no content is cut off or scrolls sideways, and every target is large enough',
    async () => {
      const { context } = await openContext({ viewport: { width: 320, height: 640 } })
      const page = await signedIn(context, server)
      const wide: string[] = []
      for (const { name, path, ready } of scenes(stage)) {
        await page.goto(server.url + path)
        await ready(page)
        const found = (await page.evaluate(`({
          width: document.documentElement.scrollWidth,
          small: [...document.querySelectorAll('button, .button, .tab, .place')].filter((one) => {
            const { width, height } = one.getBoundingClientRect()
            return width > 1 && (width < 24 || height < 24) && !one.closest('.json')
          }).map((one) => one.outerHTML.slice(0, 100)),
        })`)) as { width: number; small: string[] }
        if (found.width > 320 || found.small.length > 0) wide.push(`${name}: ${found.width} ${found.small.join(' ')}`)
      }
      expect(wide).toEqual([])
      await context.close()
    },
    LIMIT,
  )

  test('at 390 px each line of the timeline has words, a question stands once, and tabs that scroll fade', async () => {
    const { context } = await openContext({ viewport: { width: 390, height: 844 } })
    const page = await signedIn(context, server)
    await page.goto(`${server.url}/instances/${stage.piped}/timeline`)
    await page.getByText('Second draft').first().waitFor()
    const shown = async () =>
      (await page.locator('.event-line').allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))
    const isShown = async (line: RegExp) => (await shown()).some((text) => line.test(text))
    await expect.poll(() => isShown(/^\S+ worker started: local$/)).toBe(true)
    // An event of the resolver's own has no words: its type stands beside its data.
    await expect.poll(() => isShown(/^\S+ verdict=again claims=2 pipeline\.review$/)).toBe(true)

    const after = () =>
      page.locator('.tabs').evaluate((tabs) => getComputedStyle(tabs).getPropertyValue('--after-tabs'))
    await expect.poll(after).toBe('44px')
    await page.locator('.tabs').evaluate((tabs) => tabs.scrollTo({ left: tabs.scrollWidth }))
    await expect.poll(after).toBe('0px')
    await page.setViewportSize({ width: 1280, height: 860 })
    await expect.poll(after).toBe('0px')

    await page.goto(`${server.url}/instances/${stage.asking}/timeline`)
    await page.getByText('question confirm-plan').waitFor()
    const reports = async () => (await shown()).filter((line) => line.includes('resolver:input_requested')).length
    expect(await reports()).toBe(0)
    await page.getByLabel('Platform').uncheck()
    await expect.poll(reports).toBe(1)
    await context.close()
  })

  test('the timeline is filtered by tier and text, and links to the failure', async () => {
    const { context } = await openContext()
    const page = await signedIn(context, server)
    await page.goto(`${server.url}/instances/${stage.failed}/timeline`)
    const lines = page.locator('.event-line')
    await page.locator('[data-failure]').first().waitFor()
    await page.getByRole('button', { name: 'Jump to failure' }).click()
    await expect
      .poll(() => page.evaluate('document.activeElement.textContent'))
      .toContain('artifact error: The repository has no tests')
    await page.getByLabel('Platform').uncheck()
    await expect.poll(() => page.locator('.event[data-tier="1"]').count()).toBe(0)
    expect(await lines.count()).toBeGreaterThan(1)
    await page.getByLabel('Search the events').fill('NO TESTS')
    await expect.poll(async () => (await lines.allTextContents()).every((line) => line.includes('no tests'))).toBe(true)
    await page.getByLabel('Search the events').fill('nowhere to be found')
    await page.getByText('No matching events.').waitFor()
    await context.close()
  })

  test('the chosen theme is kept', async () => {
    const { context } = await openContext({ colorScheme: 'light' })
    const page = await signedIn(context, server)
    const coordination = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    const light = await coordination()
    await page.getByRole('button', { name: 'Account and appearance' }).click()
    await page.getByRole('menuitemradio', { name: 'Dark' }).click()
    await expect.poll(coordination).not.toBe(light)
    const dark = await coordination()
    await page.reload()
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    expect(await coordination()).toBe(dark)
    await context.close()
  })

  test('another screen gets the focus on its title, and every status has a word beside its shape', async () => {
    const { context } = await openContext()
    const page = await signedIn(context, server)
    await page.getByRole('link', { name: 'Instances', exact: true }).click()
    await page.getByRole('heading', { name: 'Instances' }).waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1')
    await expect.poll(() => page.title()).toBe('(1) Instances · resolve')
    // The rows come after the title.
    const marks = async () => new Set(await page.locator('.row .status').allTextContents())
    await expect.poll(marks).toEqual(new Set(['✓completed', '✗failed', '●running', '◆waiting for you']))
    await context.close()
  })
})
