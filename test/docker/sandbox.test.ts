/** A resolver in a container that has sandboxes beside it: they share its network where it says so, and never more (threats B8, B11). */
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { refuseRequests } from '../../src/core/host/process/control-socket.ts'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import {
  containersOf,
  createdInDocker,
  describeWithDocker,
  docker,
  removeContainersOf,
  testImage,
} from '../support/docker.ts'
import { storyOf, temporaryHome } from '../support/instances.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

const web = createServer((_, response) => response.end('hello'))

describeWithDocker('sandboxes beside a container', { timeout: 90_000 }, () => {
  let home = ''
  let port = 0
  beforeAll(async () => {
    home = temporaryHome()
    await new Promise<void>((done) => web.listen(0, '127.0.0.1', done))
    port = (web.address() as AddressInfo).port
  })
  afterAll(async () => {
    web.close()
    await removeContainersOf(home)
  })

  async function ran(container: Record<string, unknown>, run: string) {
    const dir = mkdtempSync(join(tmpdir(), 'resolve-sandboxed-'))
    const manifest = {
      name: 'sandboxed',
      version: '1.0.0',
      description: 'Uses sandboxes',
      command: ['node', 'resolver.ts'],
      container,
    }
    writeFileSync(join(dir, 'manifest.json'), JSON.stringify(manifest), { mode: 0o644 })
    const get = `const get = (box, url) => box.exec(['node', '-e', 'require("node:http").get(process.argv[1], { timeout: 20000 }, (r) => r.pipe(process.stdout)).on("error", (e) => console.log(e.code)).on("timeout", () => process.exit(1))', url]).then((done) => done.stdout.trim())`
    const program = `import { resolver } from 'resolve-platform/sdk'\n${get}\nresolver({ async run(ctx) {\n${run}\n} }).serve()\n`
    writeFileSync(join(dir, 'resolver.ts'), program, { mode: 0o644 })
    chmodSync(dir, 0o755)
    const id = await createdInDocker(home, { dir, name: 'sandboxed' })
    const hosts = new HostProcess(home, refuseRequests, {
      egress: { resolve: async () => ['127.0.0.1'], mayReach: () => true },
    })
    await hosts.own(id)
    await hosts.over(id)
    await hosts.close()
    const story = storyOf(home, id)
    expect(story.error).toBe(null)
    expect(await containersOf(id)).toEqual([])
    expect(await docker('network', 'ls', '-q', '--filter', `label=resolve.instance=${id}`)).toBe('')
    return JSON.parse(story.output ?? 'null') as unknown
  }

  test('on an allowlist a sandbox has no network, or the egress of its worker', async () => {
    const good = `http://good.example.org:${port}/`
    const said = await ran(
      { network: 'allowlist', egress: [`good.example.org:${port}`] },
      `const alone = await ctx.sandbox(); const shared = await ctx.sandbox({ network: 'instance' })
       return JSON.stringify([await get(shared, '${good}'), await get(shared, 'http://evil.example.org/'), await get(alone, '${good}')])`,
    )
    expect(said).toEqual([
      'hello',
      expect.stringContaining('may not reach evil.example.org:80'),
      expect.not.stringContaining('hello'),
    ])
  })

  test('a worker without network cannot share one with its sandboxes', async () => {
    const said = await ran(
      { network: 'none' },
      `const box = await ctx.sandbox({ network: 'instance' }); return JSON.stringify((await box.exec(['ls', '/sys/class/net'])).stdout)`,
    )
    expect(said).toBe('lo\n')
  })
})
