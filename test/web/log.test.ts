/** The log in the page, labels in the list, and its filter box. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import { callerOf, newToken, openContext, type Server, signedIn, startServer } from './stand.ts'
import { describePage } from './support.ts'

const speaks = plainResolver(
  `fs.writeSync(2, 'on \\u001b[31mstderr\\u001b[0m\\n'); await me.ask('go', 'Go on?'); fs.writeSync(2, 'after it\\n'); me.finish({ status: 'completed' })`,
  { name: 'speaks' },
)

describePage('the page: the log and labels', () => {
  let server: Server

  beforeAll(async () => {
    server = await startServer([speaks])
  })

  afterAll(() => server.close())

  // verifies: S-LOG-02 S-LOG-04 S-FIND-02
  test('the log follows the worker; the list shows labels and is narrowed by text', { timeout: 90_000 }, async () => {
    const token = await newToken(server.home)
    const call = callerOf(server, token)
    const made = async (labels: Record<string, string>) =>
      (await call<{ instance_id: string }>('POST', '/instances', { resolver: 'speaks', input: {}, labels })).instance_id
    const [red, blue] = [await made({ team: 'red' }), await made({ team: 'blue' })]
    const { context, complaints } = await openContext()
    const page = await signedIn(context, server, token)
    await page.goto(`${server.url}/instances/${red}/log`)
    const log = page.locator('[data-log]')
    await log.locator('[data-label="stderr"] .ansi-red').getByText('stderr').waitFor()
    await call('POST', `/instances/${red}/input-requests/go`, {})
    await page.getByText('after it').waitFor()
    await page.goto(`${server.url}/instances`)
    await page.getByText('team=red').waitFor()
    await page.getByRole('searchbox').fill('TEAM=blue')
    await page.getByText('team=red').waitFor({ state: 'detached' })
    // The list is asked for again: it is empty for a moment.
    await page.locator(`[data-instance="${blue}"]`).waitFor()
    expect(await page.locator('[data-instance]').count()).toBe(1)
    expect(page.url()).toContain('text=TEAM%3Dblue')
    expect(complaints).toEqual([])
    await context.close()
  })
})
