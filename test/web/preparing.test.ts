/** Holds what the page shows while a resolver is prepared: its setup instead of its form, then the form (R48). */
import { chmodSync } from 'node:fs'
import { expect, test } from 'vitest'
import { homeLabel } from '../../src/core/worker/engine/container-places.ts'
import { describeWithDocker, docker, removeContainersOf, testImage } from '../support/docker.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { openContext, signedIn, startServer } from './stand.ts'
import { describePage } from './support.ts'

describePage('the page: preparing', () => {
  describeWithDocker('a resolver with a setup', { timeout: 60_000 }, () => {
    // verifies: R48-SHOWN R48-PREPARE
    test('serve prepares what is registered, and the page shows the setup until it has the form', async () => {
      process.env['RESOLVE_WORKER_IMAGE'] = testImage()
      const form = `me.on['resolver.getInstantiationSchema'] = () => ({ type: 'form', components: [{ type: 'text', id: 'name', label: 'Your name' }] })`
      const wait = `: ${Date.now()}; while [ ! -e /go-on ]; do sleep 0.1; done`
      const resolver = plainResolver('', { name: 'preparing', container: { setup_commands: [wait] } }, form)
      chmodSync(resolver.dir, 0o755)
      const server = await startServer([resolver])
      const label = ['--filter', `label=resolve.home=${homeLabel(server.home)}`, '--filter', 'label=resolve.role=setup']
      const setUps = async () => (await docker('ps', '-q', ...label)).split('\n').filter(Boolean)
      try {
        await expect.poll(setUps).toHaveLength(1)
        const { context, complaints } = await openContext()
        const page = await signedIn(context, server)
        await page.goto(`${server.url}/?resolver=preparing`)
        await page.getByText('is being prepared: setup step 1 of 1').waitFor()
        expect(await setUps()).toHaveLength(1)
        await docker('exec', (await setUps())[0] as string, 'touch', '/go-on')
        await page.getByLabel('Your name').waitFor()
        expect(complaints).toEqual([])
        await context.close()
      } finally {
        await server.close()
        await removeContainersOf(server.home)
      }
    })
  })
})
