/** Holds what the page shows while repositories are cloned: the step, with a bar. */
import { expect, test, vi } from 'vitest'
import { asksFor } from '../support/git-setting.ts'
import { openUpstream } from '../support/git-upstream.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { callerOf, createInstance, newToken, openContext, signedIn, startServer, untilStatus } from './stand.ts'
import { describePage } from './support.ts'

describePage('the page: cloning', () => {
  test('a clone is shown with a bar until it is complete', { timeout: 60_000 }, async () => {
    let isHeld = true
    const held: (() => void)[] = []
    const upstream = await openUpstream({
      intercept: (_, response) => {
        if (isHeld) held.push(() => response.writeHead(503).end())
        return isHeld
      },
    })
    upstream.create('org/app', { a: '1' })
    vi.stubEnv('RESOLVE_GIT_BASE_URL', upstream.base)
    const asks = asksFor(['org/app'])
    const server = await startServer([plainResolver(`me.finish({ status: 'completed' })`, { name: 'cloning' }, asks)])
    try {
      const call = callerOf(server, await newToken(server.home))
      const id = await createInstance(call, 'cloning')
      const { context, complaints } = await openContext()
      const page = await signedIn(context, server)
      await page.goto(`${server.url}/instances/${id}`)
      await page.getByRole('progressbar', { name: 'Clone app' }).waitFor()
      isHeld = false
      for (const letGo of held) letGo()
      await untilStatus(call, id, 'completed')
      await page.getByRole('progressbar').waitFor({ state: 'detached' })
      await page.getByRole('tab', { name: 'Events' }).click()
      await page.getByText('workspace: app').waitFor()
      expect(await page.getByRole('progressbar').count()).toBe(0)
      expect(complaints).toEqual([])
      await context.close()
    } finally {
      vi.unstubAllEnvs()
      await server.close()
      await upstream.close()
    }
  })
})
