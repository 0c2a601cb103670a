/** Secret fields in the page: typed without being shown, sent once, and then nowhere in the page, its address, storage or requests. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import { callerOf, newToken, openContext, type Server, signedIn, startServer, untilStatus } from './stand.ts'
import { describePage } from './support.ts'

const FIRST = 'hunter2-of-the-form'
const SECOND = 'hunter3-of-the-answer'

const keeps = plainResolver(
  `const { code } = await me.ask('code', 'Which code?', { type: 'form', components: [{ type: 'text', id: 'note', label: 'Note' }, { type: 'text', id: 'code', label: 'Code', secret: true }] })
  me.finish({ status: 'completed', output: 'lengths ' + me.params.password.length + ' and ' + code.length })`,
  { name: 'keeps' },
  `me.on['resolver.getInstantiationSchema'] = () => ({ type: 'form', components: [
    { type: 'text', id: 'user', label: 'User' }, { type: 'text', id: 'password', label: 'Password', secret: true } ] })`,
)

describePage('the page: secret fields', () => {
  let server: Server

  beforeAll(async () => {
    server = await startServer([keeps])
  })
  afterAll(() => server.close())

  // verifies: S-SECRET-01
  test('a secret field is never shown, stored, or echoed after a reload', { timeout: 90_000 }, async () => {
    const token = await newToken(server.home)
    const { context, complaints } = await openContext()
    const page = await signedIn(context, server, token)
    const addresses: string[] = []
    page.on('request', (request) => addresses.push(request.url()))
    /** Everything of the page that outlives a keystroke. */
    const kept = async () =>
      JSON.stringify([
        await page.evaluate(
          '[{ ...localStorage }, { ...sessionStorage }, history.state, location.href, document.cookie]',
        ),
        await page.content(),
        addresses,
      ])

    await page.goto(`${server.url}/?resolver=keeps`)
    const password = page.getByLabel('Password')
    expect(await password.getAttribute('type')).toBe('password')
    await page.getByLabel('User').fill('Ada')
    await password.fill(FIRST)
    await page.getByLabel('User').press('Tab')
    await expect.poll(kept).toContain('Ada')
    expect(await kept()).not.toContain(FIRST)
    await page.reload()
    await expect.poll(() => page.getByLabel('User').inputValue()).toBe('Ada')
    expect(await password.inputValue()).toBe('')

    await password.fill(FIRST)
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForURL(/\/instances\/[0-9a-f]{12}\/timeline$/)
    const id = new URL(page.url()).pathname.split('/')[2] as string
    const code = page.locator('input[name="code"]')
    await code.waitFor()
    expect(await code.getAttribute('type')).toBe('password')
    await page.getByLabel('Note').fill('by hand')
    await code.fill(SECOND)
    await page.getByLabel('Note').press('Tab')
    await page.reload()
    await expect.poll(() => page.getByLabel('Note').inputValue()).toBe('by hand')
    expect(await code.inputValue()).toBe('')
    await code.fill(SECOND)
    await page.getByRole('button', { name: 'Answer', exact: true }).click()
    await untilStatus(callerOf(server, token), id, 'completed')
    await page.getByRole('tab', { name: 'Overview' }).click()
    await page.getByText(`lengths ${FIRST.length} and ${SECOND.length}`).first().waitFor()

    for (const tab of ['overview', 'waterfall', 'timeline', 'state', 'data', 'messages', 'log', 'raw']) {
      await page.goto(`${server.url}/instances/${id}/${tab}`)
      await page.getByRole('tabpanel').waitFor()
      const seen = await kept()
      for (const value of [FIRST, SECOND]) expect(seen, tab).not.toContain(value)
    }
    await page.goto(`${server.url}/?resolver=keeps`)
    await password.waitFor()
    expect(await password.inputValue()).toBe('')
    expect(complaints).toEqual([])
    await context.close()
  })
})
