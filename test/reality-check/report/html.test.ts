/** The HTML report of a reality check in a real browser: nothing is loaded, no script runs, axe finds nothing, the size has a limit. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import type { CheckResult } from '../../../src/core/protocol/check/reality-check.ts'
import { htmlOf } from '../../../src/core/reality-check/report/html.ts'
import { findings } from '../../web/findings.ts'
import { openContext } from '../../web/stand.ts'
import { describePage } from '../../web/support.ts'
import { checkOf, hostileCheck, PNG, testResult, withoutVerdict } from './results.ts'

const folder = mkdtempSync(join(tmpdir(), 'report-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('pictures that would make it larger than 8 MiB are left out, and it says so', () => {
  const large = Buffer.concat([PNG, Buffer.alloc(2 * 1024 * 1024)])
  const screenshots = Array.from({ length: 6 }, (_, at) => `screenshots/${at}.png`)
  const html = htmlOf(checkOf([testResult('failed', { screenshots })]), () => large)
  expect(Buffer.byteLength(html)).toBeLessThanOrEqual(8 * 1024 * 1024)
  expect(html.match(/<img /g)).toHaveLength(2)
  expect(html.match(/left out, the report has its full size/g)).toHaveLength(4)
})

test('tests that would make it larger than 8 MiB are left out and counted', () => {
  const tests = Array.from({ length: 3_000 }, () => testResult('failed', { evidence: ['"'.repeat(2_000)] }))
  const html = htmlOf(checkOf(tests), () => undefined)
  expect(Buffer.byteLength(html)).toBeLessThanOrEqual(8 * 1024 * 1024)
  expect(html).toMatch(/\d+ more tests are left out/)
})

test('only pictures are shown: neither SVG nor HTML', () => {
  const html = htmlOf(checkOf([testResult('failed', { screenshots: ['a.svg'] })]), () =>
    Buffer.from('<svg onload="x()"/>'),
  )
  expect(html).not.toContain('<img')
  expect(html).toContain('a.svg: there is no such picture')
})

describePage('the report of a reality check', () => {
  const calm = checkOf([
    testResult('failed', { screenshots: ['screenshots/a.png'] }),
    testResult('missing'),
    testResult('passed'),
  ])

  test.each([
    ['light', calm, 1],
    ['dark', calm, 1],
    ['light', hostileCheck(), 3],
    ['light', withoutVerdict(), 0],
  ] as const)(
    '%s: no request, no script, nothing for axe',
    async (colorScheme, result, images) => {
      const { page, requests, complaints, close } = await opened(result, colorScheme)
      // Its own address and the pictures inside it.
      expect(requests.filter((url) => !url.startsWith('data:'))).toEqual([page.url()])
      expect(complaints).toEqual([])
      expect(await page.evaluate('window.ran')).toBeUndefined()
      expect(await page.evaluate('[...document.images].filter((one) => one.naturalWidth === 1).length')).toBe(images)
      expect(await page.evaluate('document.scripts.length')).toBe(0)
      expect(await findings(page)).toEqual([])
      await page.setViewportSize({ width: 320, height: 640 })
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
      await close()
    },
    60_000,
  )

  test('a request that a page makes is noticed', async () => {
    const { requests, close } = await opened('<img src="http://127.0.0.1:1/x.png">')
    expect(requests).toContain('http://127.0.0.1:1/x.png')
    await close()
  }, 60_000)
})

async function opened(result: CheckResult | string, colorScheme: 'light' | 'dark' = 'light') {
  const { context, complaints } = await openContext({ colorScheme })
  const page = await context.newPage()
  const requests: string[] = []
  page.on('request', (request) => requests.push(request.url()))
  const file = join(folder, 'report.html')
  const pictures = (name: string) => (name === 'screenshots/a.png' ? PNG : undefined)
  writeFileSync(file, typeof result === 'string' ? result : htmlOf(result, pictures))
  await page.goto(pathToFileURL(file).href)
  return { page, requests, complaints, close: () => context.close() }
}
