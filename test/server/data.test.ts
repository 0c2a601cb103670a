/** Data files over HTTP: nothing outside of them, no address read twice, nothing in them that can run (threats WEB-7, UI-1). */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Api, openApi } from './api.ts'
import { exchange } from './raw.ts'

const FILES: Record<string, string> = {
  'notes.txt': 'plain text\n',
  'report.json': '{"a":1}',
  'readme.md': '# title <script>alert(1)</script>',
  'page.html': '<script>alert(1)</script>',
  'PAGE.HTML': '<script>alert(2)</script>',
  'drawing.svg': '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
  'feed.xml': '<a/>',
  'paper.pdf': '%PDF-1.7',
  'module.mjs': 'alert(1)',
  'image.png': 'not really',
  noextension: '<html>',
  '.hidden': 'dot',
  'odd.constructor': 'x',
  'a/b/c.txt': 'deep',
  'with space & ü#?%.txt': 'odd name',
  'empty.txt': '',
}

const writer = plainResolver(
  `me.fs.mkdirSync(root + '/data/a/b', { recursive: true })
   for (const [name, text] of Object.entries(${JSON.stringify(FILES)})) me.fs.writeFileSync(root + '/data/' + name, text)
   me.finish({ status: 'completed' })`,
  { name: 'writer' },
)

const announcer = plainResolver(
  `me.fs.mkdirSync(root + '/data', { recursive: true })
   me.write('data/plan.md', 'canary-first')
   me.emit('announcer.data_changed', { paths: ['plan.md'] })
   await me.ask('next', 'Go on?')
   me.write('data/plan.md', 'canary-second')
   await me.ask('last', 'And now?')
   me.finish({ status: 'completed' })`,
  { name: 'announcer' },
)

/** Its worker hears nothing any more: it stops itself once its file is written. */
const frozen = plainResolver(
  `me.fs.mkdirSync(root + '/data', { recursive: true })
   me.write('data/kept.txt', 'readable all the same')
   process.kill(process.pid, 'SIGSTOP')`,
  { name: 'frozen' },
)

let api: Api
let id: string
let at: string

beforeAll(async () => {
  api = await openApi([writer, announcer, frozen])
  id = await api.create('writer')
  await api.until(id, 'completed')
  at = `/api/instances/${id}/data`
})

afterAll(async () => await api.close())

const get = (path: string, headers: Record<string, string> = {}) => api.call('GET', `${at}/${path}`, { headers })

// verifies: S-HTTP-12 S-ERR-03 R9 R13
test('files are listed and read with the type of their name; a missing file is 404', async () => {
  const listed = (await api.call('GET', at)).json as { path: string; bytes: number }[]
  expect(listed.map(({ path }) => path).sort()).toEqual(Object.keys(FILES).sort())
  for (const { path, bytes } of listed) {
    const { status, text, headers } = await get(path.split('/').map(encodeURIComponent).join('/'))
    const isOdd = path.includes('%')
    expect(status, path).toBe(200)
    expect(text, path).toBe(FILES[path])
    expect(headers.get('content-length'), path).toBe(String(bytes))
    expect(isOdd).toBe(path === 'with space & ü#?%.txt')
  }
  expect(await get('none.txt')).toMatchObject({ status: 404, json: { code: 'file_unknown' } })
  expect(await get('a')).toMatchObject({ status: 404 })
  expect(await get('x'.repeat(200))).toMatchObject({ status: 404 })
  expect(await get('x'.repeat(3_000))).toMatchObject({ status: 400, json: { code: 'path_refused' } })
  expect((await api.call('GET', '/api/instances/ffffffffffff/data/a')).json.code).toBe('instance_unknown')
})

// verifies: S-EVT-11 S-EVT-10
test('a data file is fetched after its path was announced: no event carries its bytes, and a silent change is no event', async () => {
  const announced = await api.create('announcer')
  await api.until(announced, 'awaiting_input')
  const events = () => api.call('GET', `/api/instances/${announced}/events?follow=false`)
  const file = () => api.call('GET', `/api/instances/${announced}/data/plan.md`)
  expect((await file()).text).toBe('canary-first')
  const answer = (rid: string) => api.call('POST', `/api/instances/${announced}/input-requests/${rid}`, { body: {} })
  expect((await answer('next')).status).toBe(204)
  const isAsked = async () => (await api.call('GET', `/api/instances/${announced}/input-requests?status=pending`)).json
  await expect.poll(isAsked).toMatchObject([{ id: 'last' }])
  expect((await file()).text).toBe('canary-second')
  expect((await answer('last')).status).toBe(204)
  await api.until(announced, 'completed')
  const { text } = await events()
  const changes = [...text.matchAll(/^data: (.*data_changed.*)$/gm)].map(([, line = '']) => JSON.parse(line))
  expect(changes.map(({ event_type, data }) => [event_type, data])).toEqual([
    ['announcer.data_changed', { paths: ['plan.md'] }],
  ])
  expect(text).not.toContain('canary')
})

// verifies: R50 S-DO-03
test('files on this machine are served without their worker: from one that is frozen, and after its end', async () => {
  const live = await api.create('frozen')
  const file = () => api.call('GET', `/api/instances/${live}/data/kept.txt`)
  await expect.poll(async () => (await file()).status).toBe(200)
  expect(await file()).toMatchObject({ status: 200, text: 'readable all the same' })
  expect((await api.call('GET', `/api/instances/${live}`)).json.status).not.toMatch(/completed|failed|cancelled/)
  await api.platform.stop(live, { force: true })
  await api.until(live, 'cancelled')
  expect(await file()).toMatchObject({ status: 200, text: 'readable all the same' })
})

test('only types without active content are shown inline, and every file has a sandbox policy', async () => {
  const table: [string, string, boolean][] = [
    ['notes.txt', 'text/plain; charset=utf-8', true],
    ['report.json', 'application/json', true],
    ['readme.md', 'text/plain; charset=utf-8', true],
    ['module.mjs', 'text/plain; charset=utf-8', true],
    ['image.png', 'image/png', true],
    ['page.html', 'text/html; charset=utf-8', false],
    ['PAGE.HTML', 'text/html; charset=utf-8', false],
    ['drawing.svg', 'image/svg+xml', false],
    ['feed.xml', 'application/xml', false],
    ['paper.pdf', 'application/pdf', false],
    ['noextension', 'application/octet-stream', false],
    ['.hidden', 'application/octet-stream', false],
    ['odd.constructor', 'application/octet-stream', false],
  ]
  for (const [name, type, isShown] of table) {
    const { headers } = await get(name)
    expect(headers.get('content-type'), name).toBe(type)
    expect(headers.get('content-disposition') === null, name).toBe(isShown)
    expect(headers.get('content-security-policy'), name).toBe(
      "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    )
    expect(headers.get('x-content-type-options'), name).toBe('nosniff')
    expect(headers.get('cross-origin-resource-policy'), name).toBe('same-origin')
  }
  const named = (await get('page.html')).headers.get('content-disposition')
  expect(named).toBe(`attachment; filename="page.html"; filename*=UTF-8''page.html`)
})

test('one range is answered with 206, one outside of the file with 416, other ranges with the whole file', async () => {
  const text = FILES['notes.txt'] as string
  const table: [string, number, string | null, string][] = [
    ['bytes=0-4', 206, 'bytes 0-4/11', 'plain'],
    ['bytes=6-', 206, 'bytes 6-10/11', 'text\n'],
    ['bytes=-5', 206, 'bytes 6-10/11', 'text\n'],
    ['bytes=0-999', 206, 'bytes 0-10/11', text],
    ['bytes=-999', 206, 'bytes 0-10/11', text],
    ['bytes=10-10', 206, 'bytes 10-10/11', '\n'],
    ['bytes=11-', 416, 'bytes */11', ''],
    ['bytes=-0', 416, 'bytes */11', ''],
    ['bytes=99-100', 416, 'bytes */11', ''],
    ['bytes=4-2', 200, null, text],
    ['bytes=0-1,3-4', 200, null, text],
    ['bytes=-', 200, null, text],
    ['bytes=a-b', 200, null, text],
    ['lines=0-1', 200, null, text],
    [`bytes=0-${'9'.repeat(400)}`, 200, null, text],
  ]
  for (const [range, status, content, body] of table) {
    const answer = await get('notes.txt', { range })
    expect(answer.status, range).toBe(status)
    expect(answer.headers.get('content-range'), range).toBe(content)
    if (status === 416) expect(answer.json.code).toBe('range_unsatisfiable')
    else expect(answer.text, range).toBe(body)
  }
  expect((await get('empty.txt', { range: 'bytes=0-' })).status).toBe(416)
  expect((await get('notes.txt', { range: 'bytes=0-4', 'if-range': '"other"' })).status).toBe(200)
})

test('HEAD answers size, time and type without the bytes', async () => {
  const { status, text, headers } = await api.call('HEAD', `${at}/notes.txt`, { headers: { range: 'bytes=0-4' } })
  expect([status, text]).toEqual([200, ''])
  expect(headers.get('content-length')).toBe('11')
  expect(Number.isNaN(Date.parse(headers.get('last-modified') ?? ''))).toBe(false)
  expect((await api.call('HEAD', `${at}/none`)).status).toBe(404)
})

/** What follows `…/data/` on the wire, and the answer. */
const TRAVERSALS: [string, number][] = [
  ['..', 400],
  ['../config.json', 400],
  ['../state.json', 400],
  ['../../instances', 400],
  ['../../../../../../etc/passwd', 400],
  ['a/../../config.json', 400],
  ['a/../notes.txt', 400],
  ['./notes.txt', 400],
  ['.', 400],
  ['', 400],
  ['/', 400],
  ['/etc/passwd', 400],
  ['//etc/passwd', 400],
  ['a//b/c.txt', 400],
  ['a/b/c.txt/', 400],
  ['%2e%2e/config.json', 400],
  ['%2E%2E/config.json', 400],
  ['.%2e/config.json', 400],
  ['%2e./config.json', 400],
  ['%2e/notes.txt', 400],
  ['..%2fconfig.json', 400],
  ['..%2Fconfig.json', 400],
  ['%2e%2e%2fconfig.json', 400],
  ['a%2fb%2fc.txt', 400],
  ['..%5cconfig.json', 400],
  ['..%5Cconfig.json', 400],
  ['..\\config.json', 400],
  ['a\\b', 400],
  ['%00', 400],
  ['notes.txt%00', 400],
  ['notes.txt%00.png', 400],
  ['%252e%252e/config.json', 400],
  ['%252e%252e%252fconfig.json', 400],
  ['..%252fconfig.json', 400],
  ['%25252e%25252e/config.json', 400],
  ['%c0%ae%c0%ae/config.json', 400],
  ['%e0%80%ae/config.json', 400],
  ['%uff0e%uff0e/config.json', 400],
  ['%', 400],
  ['%2', 400],
  ['%zz', 400],
  ['..;/config.json', 404],
  ['..?/notes.txt', 400],
  ['../config.json?import&raw', 400],
  ['notes.txt?../../config.json', 200],
  ['notes.txt#../../config.json', 400],
  ['.../config.json', 404],
  ['%ef%bc%8e%ef%bc%8e/config.json', 404],
  ['~root/.ssh', 404],
  ['link-out', 404],
  ['link-dir/passwd', 404],
]

// verifies: S-DO-04 S-ERR-03
test('no path leaves the directory, however it is encoded: a table over a raw socket', async () => {
  const data = join(api.home, 'instances', id, 'project/.resolve/data')
  symlinkSync('/etc/passwd', join(data, 'link-out'))
  symlinkSync('/etc', join(data, 'link-dir'))
  expect(TRAVERSALS.length).toBeGreaterThanOrEqual(40)
  for (const [path, status] of TRAVERSALS) {
    const heard = await ask(`${at}/${path}`)
    expect(statusOf(heard), `${path}\n${heard}`).toBe(status)
    expect(heard).not.toContain('root:')
    expect(heard).not.toContain(api.home)
    if (status === 400) expect(heard).toMatch(/"code":"(?:path_refused|request_malformed)"/)
    if (status === 404) expect(heard).toContain('"code":"file_unknown"')
  }
})

test('a target that is no path is refused, and an encoded route is decoded', async () => {
  const whole = `http://127.0.0.1:${api.port}${at}`
  const foreign = `http://evil.test${at}/notes.txt`
  for (const target of [foreign, `${whole}/notes.txt`, `${whole}/../config.json`, `${whole}/%2e%2e/config.json`]) {
    expect(statusOf(await ask(target)), target).toBe(400)
  }
  expect(statusOf(await ask(`//evil.test${at}/notes.txt`))).toBe(404)
  expect(statusOf(await ask(`/%61pi/instances/${id}/d%61ta/notes.txt`))).toBe(200)
  expect(statusOf(await ask(`/%61pi/instances/${id}/d%61ta/%2e%2e/config.json`))).toBe(400)
  expect(statusOf(await ask(`/%61pi/instances/${id}/d%61ta/notes.txt`, 'Authorization: Bearer wrong'))).toBe(401)
  expect(statusOf(await ask(`/api/instances/..%2f${id}/data/notes.txt`))).toBe(404)
  expect(statusOf(await ask(`/api/instances/${id}/../${id}/data/notes.txt`))).toBe(404)
})

test('a directory or a pipe in place of a file is 404', async () => {
  const data = join(api.home, 'instances', id, 'project/.resolve/data')
  mkdirSync(join(data, 'now-a-directory.txt'))
  execFileSync('mkfifo', [join(data, 'now-a-pipe.txt')])
  expect((await get('now-a-directory.txt')).status).toBe(404)
  expect((await get('now-a-pipe.txt')).status).toBe(404)
})

function ask(target: string, credentials = `Authorization: Bearer ${api.tokens.read}`): Promise<string> {
  const lines = [`GET ${target} HTTP/1.1`, `Host: 127.0.0.1:${api.port}`, credentials, 'Connection: close', '', '']
  return exchange(api.port, lines.join('\r\n'))
}

function statusOf(heard: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(heard)?.[1])
}

test('all data files come as one archive, each with its content, and nothing else', async () => {
  const answer = await fetch(`${api.url}/api/instances/${id}/data.tar.gz`, {
    headers: { authorization: `Bearer ${api.tokens.read}` },
  })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/gzip')
  expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="data-${id}.tar.gz"`)
  const folder = mkdtempSync(join(tmpdir(), 'resolve-archive-'))
  execFileSync('tar', ['-xz', '-C', folder], { input: Buffer.from(await answer.arrayBuffer()) })
  const listed = await api.call('GET', `/api/instances/${id}/data`)
  const paths = listed.json.map(({ path }: { path: string }) => path)
  expect(paths.length).toBeGreaterThan(10)
  for (const path of paths) {
    const one = await api.call('GET', `/api/instances/${id}/data/${path.split('/').map(encodeURIComponent).join('/')}`)
    expect(readFileSync(join(folder, `data-${id}`, path), 'utf8')).toBe(one.text)
  }
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory())
  expect(found.length).toBe(paths.length)
  const unknown = await api.call('GET', '/api/instances/000000000000/data.tar.gz')
  expect([unknown.status, unknown.json.code]).toEqual([404, 'instance_unknown'])
})
