/** A stream does not outlive the token it was opened with. */
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTokens } from '../../src/core/index.ts'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import { tokenAccess } from '../../src/server/access/access.ts'
import { hostGuard } from '../../src/server/access/guard.ts'
import { buildApp } from '../../src/server/app.ts'
import { listen } from '../../src/server/http/listen.ts'
import { EventStreams } from '../../src/server/http/sse.ts'
import { platformOn } from '../support/platforms.ts'
import { homeWith } from '../support/served.ts'

let home: string
let platform: LocalPlatform
let url: string
let close: () => Promise<unknown>
const streams = new EventStreams({ heartbeatMs: 200 })

beforeAll(async () => {
  home = await homeWith(['asks-once'])
  platform = await platformOn(home)
  const access = tokenAccess(openTokens(home))
  const app = await buildApp({ platform, access, guard: hostGuard(), streams })
  const listening = await listen(app, { host: '127.0.0.1', port: 0 })
  url = listening.url
  close = () => Promise.all([app.close(), listening.close()])
})

afterAll(async () => {
  await close()
  await platform.close()
  rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
})

// verifies: R38 R15-SSE S-AUTH-02 S-HTTP-05 S-EVT-14 S-VER-05
test('a stream ends when its token is revoked, and continues with another token where it was', async () => {
  const tokens = openTokens(home)
  const [first, second] = [await tokens.create({ scope: 'read' }), await tokens.create({ scope: 'read' })]
  const { instance_id: id } = await platform.create({ resolver: 'asks-once', input: {} })
  const address = `${url}/api/instances/${id}/events`
  const others = await fetch(`${address}?token=${second.token}`)
  const read = await fetch(address, { headers: { authorization: `Bearer ${first.token}` } })
  let text = ''
  const whole = (async () => {
    const decoder = new TextDecoder()
    for await (const bytes of read.body ?? []) text += decoder.decode(bytes, { stream: true })
  })()
  // What the record tells may not be sent yet.
  await expect.poll(() => text).toContain('platform.input.requested')
  expect(streams.size).toBe(2)
  await tokens.revoke(first.entry.id)
  await whole
  expect(text).not.toContain('"type":"done"')
  await expect.poll(() => streams.size).toBe(1)
  const again = await fetch(address, { headers: { authorization: `Bearer ${first.token}` } })
  expect(again.status).toBe(401)
  const last = [...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] as string
  const rest = fetch(address, { headers: { authorization: `Bearer ${second.token}`, 'last-event-id': last } })
  await platform.cancel(id)
  const tail = await (await rest).text()
  expect(tail).toContain(`id: ${Number(last) + 1}\n`)
  expect(tail).toContain('data: {"type":"done"}')
  expect(await others.text()).toContain('data: {"type":"done"}')
})
