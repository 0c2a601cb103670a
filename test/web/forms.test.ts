/** Holds the way in and the forms: from a sign-in link to a finished tour, fields that come and go, every failing check at once. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fixture } from '../support/fixtures.ts'
import { callerOf, newToken, openContext, type Server, signedIn, startServer } from './stand.ts'
import { describePage } from './support.ts'

describePage('the page: forms', () => {
  let server: Server

  beforeAll(async () => {
    server = await startServer([fixture('three-checks')])
  })
  afterAll(() => server.close())

  const field = (page: Page, id: string) => page.locator(`[data-field="${id}"]`)

  // verifies: R38
  test('the sign-in link signs in once, and its code leaves the address', async () => {
    const { context, complaints } = await openContext()
    const page = await context.newPage()
    await page.goto(server.signIn)
    await page.getByRole('heading', { name: 'New instance' }).waitFor()
    expect(page.url()).toBe(`${server.url}/`)
    expect(await page.evaluate('history.length')).toBeLessThan(4)
    const other = await (await openContext()).context.newPage()
    await other.goto(server.signIn)
    await other.getByRole('alert').waitFor()
    expect(await other.getByRole('heading', { level: 1 }).textContent()).toBe('Sign in')
    expect(complaints).toEqual([])
    await context.close()
  })

  test('a token can be pasted, a wrong one is refused with a message, and signing out removes it', async () => {
    const { context } = await openContext()
    const page = await context.newPage()
    await page.goto(`${server.url}/inbox`)
    await page.getByLabel('Access token').fill('nonsense')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Access token').fill(await newToken(server.home))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    await page.getByRole('button', { name: 'Account and appearance' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByLabel('Access token').waitFor()
    expect(await page.evaluate('localStorage.getItem("resolve.token")')).toBe(null)
    await context.close()
  })

  // verifies: S-SVC-15 S-HTTP-15
  test('the tour runs from its form to its end', async () => {
    const { context, complaints } = await openContext()
    const page = await signedIn(context, server)
    await page.goto(`${server.url}/?resolver=tour`)
    await page.getByLabel('What to build').fill('a mill')
    await page.getByLabel('Pace').selectOption('instant')
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForURL(/\/instances\/[0-9a-f]{12}\/timeline$/)
    const question = page.locator('section[data-request-id="confirm-plan"]')
    await question.getByText('Build a mill in 4 steps?').waitFor()
    await question.getByLabel('A note for the builders').fill('Mind the step')
    await question.getByRole('button', { name: 'Answer' }).click()
    await page.locator('.instance-line .status[data-status="completed"]').waitFor()
    await page.locator('[data-connection="ended"]').waitFor()
    await page.getByRole('tab', { name: 'Overview' }).click()
    await page.getByText('Built a mill', { exact: true }).first().waitFor()
    await page.getByRole('tab', { name: 'Data' }).click()
    await page.getByRole('link', { name: /opening\/speech\.md/ }).click()
    await page.getByText('Mind the step').waitFor()
    await page.getByRole('tab', { name: 'View', exact: true }).click()
    await page.frameLocator('iframe').getByText('tour: 4 of 4 parts, completed').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  // verifies: R10
  test('a field appears, disappears and reappears with its value; a hidden field is not submitted', async () => {
    const { context } = await openContext()
    const page = await signedIn(context, server)
    await page.goto(`${server.url}/?resolver=tour`)
    const plaque = page.getByLabel('Put up a plaque')
    await plaque.check()
    await page.getByLabel('Inscription').fill('For those at sea')
    await plaque.uncheck()
    await field(page, 'inscription').waitFor({ state: 'detached' })
    await plaque.check()
    await page.getByLabel('Inscription').waitFor()
    expect(await page.getByLabel('Inscription').inputValue()).toBe('For those at sea')
    await plaque.uncheck()
    await field(page, 'inscription').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForURL(/timeline$/)
    const [, id = ''] = /instances\/([0-9a-f]{12})/.exec(page.url()) ?? []
    const call = callerOf(server, await newToken(server.home))
    const { input } = await call<{ input: Record<string, unknown> }>('GET', `/instances/${id}`)
    expect(input).not.toHaveProperty('inscription')
    await call('DELETE', `/instances/${id}`)
    await context.close()
  })

  test('an answer to an older inquiry about the form is ignored', async () => {
    const { context } = await openContext()
    const page = await signedIn(context, server)
    await page.goto(`${server.url}/?resolver=tour`)
    await page.getByLabel('Put up a plaque').waitFor()
    // The first answer is held back until the second has come: it must not undo it.
    let held: (() => void) | undefined
    await page.route('**/check', async (route) => {
      if (held !== undefined) return route.continue()
      const released = new Promise<void>((resolve) => {
        held = resolve
      })
      await released
      await route.continue().catch(() => {})
    })
    await page.getByLabel('Put up a plaque').check()
    await expect.poll(() => held !== undefined).toBe(true)
    await page.getByLabel('Put up a plaque').uncheck()
    await page.waitForTimeout(300)
    held?.()
    // A late answer would bring the field back.
    await page.waitForTimeout(200)
    expect(await field(page, 'inscription').count()).toBe(0)
    await context.close()
  })

  // verifies: S-ERR-01
  test('three failing checks are shown at once, in a summary that takes the focus and links to the fields', async () => {
    const { context } = await openContext()
    const page = await signedIn(context, server)
    await page.goto(`${server.url}/?resolver=three-checks`)
    await page.getByLabel('Name').waitFor()
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    const summary = page.locator('.summary')
    await summary.waitFor()
    expect(await summary.getByRole('listitem').allTextContents()).toEqual([
      'Name: Say your name',
      'E-mail: Say where to write to',
      'City: Choose a city',
    ])
    // The focus follows what is drawn.
    await expect.poll(() => summary.evaluate((element) => element === document.activeElement)).toBe(true)
    await summary.getByRole('link', { name: /E-mail/ }).click()
    expect(await page.evaluate('document.activeElement.name')).toBe('email')
    expect(await field(page, 'email').locator('.field-wrong').textContent()).toBe('Say where to write to')
    expect(await field(page, 'email').locator('input').getAttribute('aria-invalid')).toBe('true')
    await context.close()
  })

  test('a click on Start arrives, also where leaving a field brings its message', async () => {
    const { context } = await openContext()
    const page = await signedIn(context, server)
    await page.goto(`${server.url}/?resolver=three-checks`)
    await page.getByLabel('Name').fill('x')
    await page.getByLabel('Name').fill('')
    const box = await page.getByRole('button', { name: 'Start', exact: true }).boundingBox()
    await page.mouse.move((box?.x ?? 0) + 10, (box?.y ?? 0) + 2)
    await page.mouse.down()
    // A person holds a button for about this long; the message must not come meanwhile.
    await page.waitForTimeout(400)
    expect(await page.locator('.field-wrong').count()).toBe(0)
    await page.mouse.up()
    await page.locator('.summary').waitFor()
    await context.close()
  })

  test('"Copy as CLI" copies the command with the same effect', async () => {
    const { context } = await openContext({ permissions: ['clipboard-read', 'clipboard-write'] })
    const page = await signedIn(context, server)
    await page.goto(`${server.url}/?resolver=tour`)
    await page.getByLabel('What to build').fill("Ada's @mill")
    await page.getByLabel('Put up a plaque').check()
    await page.getByLabel('Inscription').fill('@file')
    await page.getByRole('button', { name: 'Copy as CLI' }).click()
    await page.getByText('Copied').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      `resolve run tour -i 'subject=Ada'\\''s @mill' -i plaque=true -i inscription=@@file`,
    )
    await context.close()
  })

  test('every action works with the keyboard alone', async () => {
    const { context } = await openContext()
    const page = await signedIn(context, server)
    const keys = page.keyboard
    const focused = () => page.evaluate('document.activeElement?.textContent || document.activeElement?.name || ""')
    const tabTo = async (wanted: RegExp, limit = 40) => {
      for (let n = 0; n < limit; n += 1) {
        if (wanted.test(String(await focused()))) return
        await keys.press('Tab')
      }
      throw new Error(`Nothing like ${wanted} was reached; the focus is on ${await focused()}`)
    }
    await page.getByRole('combobox', { name: 'Resolver' }).focus()
    await keys.press('Control+a')
    await keys.type('tour')
    // Enter takes the highlighted row: the list must have been narrowed to it.
    await page.locator('.picker-item[data-highlighted]').filter({ hasText: 'tour' }).waitFor()
    await expect.poll(() => page.locator('.picker-item').count()).toBe(1)
    await keys.press('Enter')
    await page.getByLabel('What to build').waitFor()
    await tabTo(/^subject$/)
    await keys.type('a bridge')
    await keys.press('Tab')
    await keys.type('instant')
    await tabTo(/^Start$/)
    await keys.press('Enter')
    await page.locator('[data-request-id="confirm-plan"]').waitFor()
    await tabTo(/^note$/)
    await keys.type('Hold on')
    await tabTo(/^Answer$/)
    await keys.press('Enter')
    await page.locator('.instance-line .status[data-status="completed"]').waitFor()
    await tabTo(/^Events$/)
    for (const name of ['Logs', 'Graph', 'State', 'Data']) {
      await keys.press('ArrowRight')
      await expect.poll(focused).toBe(name)
    }
    await keys.press('Enter')
    // The list of files is asked for.
    await page.getByRole('link', { name: /^survey\.md/ }).waitFor()
    await tabTo(/^survey\.md/)
    await keys.press('Enter')
    await page.getByText('The ground is good for a bridge.').waitFor()
    await context.close()
  })
})
