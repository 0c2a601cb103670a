/** What a browser gets outside of /api: the built page's own files, and nothing else of the machine. */
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Api, openApi } from './api.ts'
import { exchange } from './raw.ts'

let api: Api

beforeAll(async () => {
  const place = mkdtempSync(join(tmpdir(), 'resolve-page-'))
  const page = join(place, 'page')
  mkdirSync(join(page, 'assets'), { recursive: true })
  writeFileSync(join(place, 'secret.txt'), 'secret')
  writeFileSync(join(page, 'index.html'), '<!doctype html><title>page</title>')
  writeFileSync(join(page, 'assets/app-1a2b.js'), 'export {}')
  writeFileSync(join(page, 'assets/app-1a2b.js.map'), '{}')
  writeFileSync(join(page, 'assets/style.css'), 'body{}')
  writeFileSync(join(page, 'viewport.html'), '<div></div><script>tell()</script>')
  symlinkSync(join(place, 'secret.txt'), join(page, 'assets/link.txt'))
  api = await openApi([], { page })
})

afterAll(async () => await api.close())

const get = (path: string) => api.call('GET', path, { token: null })

test('the page and its screens are served without a token, under a strict policy', async () => {
  for (const path of ['/', '/instances', '/instances/0123456789ab/state', '/inbox', '/resolvers/hello', '/sign-in']) {
    const { status, text, headers } = await get(path)
    expect([status, text], path).toEqual([200, '<!doctype html><title>page</title>'])
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    const policy = headers.get('content-security-policy') ?? ''
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) {
      expect(policy).toContain(part)
    }
    expect(policy).not.toMatch(/unsafe-inline|unsafe-eval(?!')|https?:/)
  }
  expect((await get('/assets/app-1a2b.js')).headers.get('content-type')).toContain('text/javascript')
  expect((await get('/assets/style.css')).text).toBe('body{}')
})

test('only files of the page are served: no source map, no link, no path outside', async () => {
  for (const path of [
    ...['/assets/app-1a2b.js.map', '/assets/link.txt', '/assets', '/assets/', '/index.html/', '/nothing'],
    ...[
      '/../secret.txt',
      '/assets/../../secret.txt',
      '/%2e%2e/secret.txt',
      '/..%2fsecret.txt',
      '/assets/..%5c..%5csecret.txt',
    ],
    ...['//etc/passwd', '/assets//style.css', '/assets/style.css%00', '/%252e%252e/secret.txt'],
  ]) {
    const lines = [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${api.port}`, 'Connection: close', '', '']
    const heard = await exchange(api.port, lines.join('\r\n'))
    expect(heard, path).toMatch(/^HTTP\/1\.1 40[04]/)
    expect(heard).not.toContain('secret\r\n')
    expect(heard).not.toMatch(/root:|secret$/)
  }
  expect((await get('/api/instances')).status).toBe(401)
})

test('a browser that opens an unknown address gets the page with status 404, other clients get the error', async () => {
  const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  for (const path of ['/nothing', '/instance/0123456789ab', '/assets/gone.js']) {
    const opened = await api.call('GET', path, { token: null, headers: browser })
    expect([opened.status, opened.text], path).toEqual([404, '<!doctype html><title>page</title>'])
    expect(opened.headers.get('content-security-policy')).toContain("default-src 'none'")
    const fetched = await api.call('GET', path, { token: null })
    expect([fetched.status, fetched.json.code], path).toEqual([404, 'route_unknown'])
  }
  expect((await api.call('POST', '/nothing', { token: null, headers: browser })).json.code).toBe('route_unknown')
  expect((await api.call('GET', '/api/nothing', { headers: browser })).json.code).toBe('route_unknown')
  expect((await api.call('GET', '/api/nothing', { token: null, headers: browser })).status).toBe(401)
})

test('the files of the page are cached and compressed; the page itself is revalidated each time', async () => {
  const asset = await get('/assets/app-1a2b.js')
  expect(asset.headers.get('cache-control')).toContain('immutable')
  expect((await get('/')).headers.get('cache-control')).toBe('no-store')
  const lines = [
    'GET /assets/style.css HTTP/1.1',
    `Host: 127.0.0.1:${api.port}`,
    'Accept-Encoding: gzip',
    'Connection: close',
    '',
    '',
  ]
  const heard = (await exchange(api.port, lines.join('\r\n'))).toLowerCase()
  expect(heard).toContain('content-encoding: gzip')
  expect(heard).toContain('vary: accept-encoding')
})

test('the viewport frame has its own policy: no origin, no requests, only its program and the modules handed to it (UI-3)', async () => {
  const { headers } = await get('/viewport.html')
  const policy = headers.get('content-security-policy') ?? ''
  const digest = createHash('sha256').update('tell()').digest('base64')
  expect(policy.split('; ')).toEqual([
    ...[
      'sandbox allow-scripts',
      "default-src 'none'",
      `script-src 'sha256-${digest}' blob:`,
      "style-src 'unsafe-inline'",
    ],
    ...['img-src data: blob:', "base-uri 'none'", "form-action 'none'", "frame-ancestors 'self'"],
  ])
  expect(headers.get('x-frame-options')).toBe('SAMEORIGIN')
})
