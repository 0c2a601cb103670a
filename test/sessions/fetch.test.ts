/** The tool fetch: what it reads, refuses and bounds. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { stripTags } from '../../src/sessions/web/strip-tags.ts'
import { type Asked, bench } from './calls.ts'

async function site(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const LOCAL = { fetch: { privateAddresses: true } }
const get = (url: string, more: Record<string, unknown> = {}): Asked => ['fetch', { url, ...more }]

const PAGE = `<!doctype html><html><head><title>The title</title><style>p { color: red }</style></head><body>
<h1>Heading</h1><p>Some <b>bold</b> text, <a href="/next?a=1">a link</a> and <a href="javascript:alert(1)">none</a>.</p>
<script>steal()</script><ul><li>one</li><li>two</li></ul><pre><code>const a = 1</code></pre><img src="data:image/png;base64,AAAA" alt="a cat"></body></html>`

test('HTML becomes Markdown, other text stays, and bytes are refused (R56-FETCH)', async () => {
  const url = await site((request, response) => {
    const send = (type: string, body: string | Buffer, more = {}) =>
      response.writeHead(request.url === '/gone' ? 404 : 200, { 'content-type': type, ...more }).end(body)
    if (request.url === '/page') return send('text/html; charset=utf-8', PAGE)
    if (request.url === '/json') return send('application/json', gzipSync('{"a":1}'), { 'content-encoding': 'gzip' })
    if (request.url === '/latin') return send('text/plain; charset="iso-8859-1"', Buffer.from('caf\xe9', 'latin1'))
    if (request.url === '/image') return send('image/png', Buffer.from([1, 2, 3]))
    if (request.url === '/zeros') return send('text/plain', Buffer.alloc(100))
    return send('text/plain', 'no such page')
  })
  const { run } = bench()
  const paths = ['/page', '/json', '/latin', '/image', '/zeros', '/gone']
  const results = await run(
    paths.map((path) => get(url + path)),
    { ...LOCAL, readOnly: true },
  )
  const [page, json, latin, image, zeros, gone] = results
  for (const part of ['# Heading', '**bold**', `[a link](${url}/next?a=1)`, 'one', 'const a = 1', 'a cat'])
    expect(page?.output).toContain(part)
  expect(page?.output).not.toMatch(/steal|color|javascript|base64/)
  expect(page?.output).toContain(`[Data from ${url}/page (200, text/html,`)
  expect(json?.output).toContain('{"a":1}')
  expect(latin?.output).toContain('café')
  expect(image).toMatchObject({ isError: true, output: expect.stringContaining('is not text') })
  expect(zeros?.isError).toBe(true)
  expect(gone).toMatchObject({ isError: true, output: expect.stringContaining('no such page') })
})

test('a long page is read in parts, and only its first MiB', async () => {
  const body = Array.from({ length: 200_000 }, (_, at) => `line ${at}`).join('\n')
  const url = await site((request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': request.url === '/gzip' ? 'gzip' : '' })
    response.end(request.url === '/gzip' ? gzipSync(Buffer.alloc(50_000_000, 'a')) : body)
  })
  const { run } = bench()
  const [first, packed] = await run([get(url), get(`${url}/gzip`)], LOCAL)
  expect(Buffer.byteLength(first?.output ?? '')).toBeLessThanOrEqual(50 * 1024)
  expect(first?.output).toContain('the first 1048576 bytes')
  const next = /go on with offset (\d+)\]$/.exec(first?.output ?? '')?.[1]
  const [second, last] = await run([get(url, { offset: Number(next) }), get(url, { offset: 9_999_999 })], LOCAL)
  const linesOf = (output = '') => output.split('\n').slice(1, -1)
  expect([...linesOf(first?.output), ...linesOf(second?.output)].join('\n').replace(/\n/g, '')).toContain(
    'line 100line 101',
  )
  expect(body).toContain(linesOf(second?.output).slice(1).join('\n'))
  expect(last?.output).toContain('[it has 1048576 characters]')
  expect(packed?.output).toContain('the first 1048576 bytes')
})

describe('addresses', () => {
  test.each([
    'file:///etc/passwd',
    'ftp://example.org/',
    'http://user:pass@example.org/',
    'no address',
    'http://127.0.0.1:PORT/',
    'http://localhost:PORT/',
    'http://0x7f.1:PORT/',
    'http://2130706433:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1/',
  ])('%s is refused', async (address) => {
    let asked = 0
    const url = await site((_, response) => {
      asked += 1
      response.end('secret')
    })
    const { run } = bench()
    const [told] = await run([get(address.replace('PORT', new URL(url).port))])
    expect(told).toMatchObject({ isError: true })
    expect(told?.output).not.toContain('secret')
    expect(asked).toBe(0)
  })

  test('each redirect is checked, and five are followed', async () => {
    const url = await site((request, response) => {
      const number = Number(request.url?.slice(1))
      const location = request.url === '/file' ? 'file:///etc/passwd' : `/${number + 1}`
      if (number === 9) response.end('arrived')
      else response.writeHead(302, { location }).end()
    })
    const { run } = bench()
    const [arrived, many, file] = await run([get(`${url}/4`), get(`${url}/3`), get(`${url}/file`)], LOCAL)
    expect(arrived).toMatchObject({ isError: false, output: expect.stringContaining('arrived') })
    expect(many?.output).toContain('more than 5 times')
    expect(file?.output).toContain('Only http and https')
  })

  test('a worker behind a proxy asks it, and a redirect to this machine is refused there too (R56-FETCH)', async () => {
    const asked: string[] = []
    const proxy = await site((request, response) => {
      asked.push(request.url ?? '')
      if (request.url === 'http://page.example/') response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
      else response.end('through the proxy')
    })
    const names = ['HTTP_PROXY', 'NO_PROXY', 'NODE_USE_ENV_PROXY']
    const before = names.map((name) => process.env[name])
    onTestFinished(() => {
      for (const [at, name] of names.entries()) {
        const value = before[at]
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      }
    })
    Object.assign(process.env, { HTTP_PROXY: proxy, NO_PROXY: 'localhost,127.0.0.1', NODE_USE_ENV_PROXY: '1' })
    const { run } = bench()
    const [through, back] = await run([get('http://docs.example/a'), get('http://page.example/')])
    expect(through).toMatchObject({ isError: false, output: expect.stringContaining('through the proxy') })
    expect(back).toMatchObject({ isError: true, output: expect.stringContaining('private network') })
    expect(asked).toEqual(['http://docs.example/a', 'http://page.example/'])
  })
})

test('a page that no converter gets through loses its tags only', async () => {
  const url = await site((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end(`<p>before</p>${'<div>'.repeat(20_000)}deep &amp; down${'</div>'.repeat(20_000)}<p>after</p>`)
  })
  const { run } = bench()
  const [told] = await run([get(url)], LOCAL)
  expect(told?.output.split('\n').slice(1)).toEqual(['before', 'deep & down', 'after'])
})

test('a stop ends a fetch that gets no answer', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const url = await site(() => resolve())
  const { at, run } = bench()
  const running = run([get(url)], LOCAL)
  await promise
  at.stop.abort(new Error('stopped by a person'))
  await expect(running).rejects.toThrow('stopped by a person')
})

test.each([
  ['<p>a<br>b</p>', 'a\nb'],
  ['1 < 2 <b>and</b> 3', '1 < 2 and 3'],
  ['a<script>var x = "<p>"</SCRIPT>b', 'ab'],
  ['a<!-- <p>no</p> -->b', 'ab'],
  ['a<script>never ends', 'a'],
  ['<style><style><style>', ''],
  ['a<div', 'a'],
  ['&lt;b&gt; &amp;lt;', '<b> &lt;'],
])('tags are taken off: %j', (html, text) => {
  expect(stripTags(html)).toBe(text)
})

test('tags of a megabyte are taken off at once', () => {
  for (const html of ['<'.repeat(1_000_000), '<!--'.repeat(250_000), '<script>'.repeat(125_000), '<a '.repeat(300_000)])
    expect(stripTags(html).length).toBeLessThanOrEqual(html.length)
}, 10_000)
