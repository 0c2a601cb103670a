/** The data files of an instance: what their tree, tables, differences, colours and Markdown are, also of hostile files, and the tab. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ansiPieces, hasColours } from '../../src/web/screens/instance/data/ansi.ts'
import { COLUMNS_MAX, isNumeric, ROWS_MAX, sheetOf } from '../../src/web/screens/instance/data/csv.ts'
import { dataPathFrom } from '../../src/web/screens/instance/data/data-address.ts'
import { diffKinds } from '../../src/web/screens/instance/data/diff-lines.ts'
import { FILES_SHOWN_MAX, treeOf } from '../../src/web/screens/instance/data/file-tree.ts'
import { markdownMore, type Node } from '../../src/web/screens/instance/data/markdown-more.ts'
import { iconOf, previewKind } from '../../src/web/screens/instance/data/preview-kind.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { findings } from './findings.ts'
import {
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

const file = (path: string) => ({ path, bytes: 1, modified_at: '2026-01-01T00:00:00.000Z' })

test('files are a sorted tree of folders, whatever their names are', () => {
  const { top, found } = treeOf(['b.txt', 'a/c/d.txt', 'a/b.txt', '__proto__/constructor', 'a.txt'].map(file), '')
  expect(found).toBe(5)
  expect(top.files.map(({ path }) => path)).toEqual(['a.txt', 'b.txt'])
  expect(top.folders.map(({ name }) => name)).toEqual(['__proto__', 'a'])
  expect(top.folders[1]?.folders[0]).toMatchObject({ name: 'c', path: 'a/c/', files: [{ path: 'a/c/d.txt' }] })
})

test('a filter finds words anywhere in the path, and a long list is cut', () => {
  const files = ['src/App.tsx', 'src/api/call.ts', 'docs/app.md'].map(file)
  expect(treeOf(files, 'app SRC').found).toBe(1)
  expect(treeOf(files, 'nothing').found).toBe(0)
  const many = Array.from({ length: FILES_SHOWN_MAX + 5 }, (_, index) => file(`f${index}`))
  const { top, found } = treeOf(many, '')
  expect([top.files.length, found]).toEqual([FILES_SHOWN_MAX, FILES_SHOWN_MAX + 5])
})

test('CSV has quoted cells, other separators and ragged rows; a quote without an end holds the rest', () => {
  expect(sheetOf('a,b\r\n"x, ""y""\nz",2\n3\n')).toEqual({
    head: ['a', 'b'],
    rows: [
      ['x, "y"\nz', '2'],
      ['3', ''],
    ],
    isCut: false,
  })
  expect(sheetOf('\ufeffa;b\n1;2')?.rows).toEqual([['1', '2']])
  expect(sheetOf('a\tb\n1\t')?.rows).toEqual([['1', '']])
  expect(sheetOf('a,b\n"open,1\n2,3')?.rows).toEqual([['open,1\n2,3', '']])
  expect(sheetOf('')).toBeUndefined()
  expect(sheetOf('\n\n')).toBeUndefined()
})

test('a table is bounded in rows, columns and the length of a cell', () => {
  const long = sheetOf(`h\n${'1\n'.repeat(ROWS_MAX + 10)}`)
  expect([long?.rows.length, long?.isCut]).toEqual([ROWS_MAX, true])
  const wide = sheetOf(','.repeat(COLUMNS_MAX * 2))
  expect([wide?.head.length, wide?.isCut]).toEqual([COLUMNS_MAX, true])
  expect(sheetOf('x'.repeat(100_000))?.head[0]?.length).toBeLessThan(1_100)
  expect(isNumeric([['1.5'], [''], ['-2e3'], ['1,200'], ['12%']], 0)).toBe(true)
  expect(isNumeric([['1.5'], ['x']], 0)).toBe(false)
})

test('the lines of a difference are told apart, also those that look like heads', () => {
  const text = [
    'diff --git a/x b/x',
    '--- a/x',
    '+++ b/x',
    '@@ -1,2 +1,2 @@',
    '--- gone',
    '+++ come',
    ' kept',
    '@@ -9 +9 @@',
    '-a',
    '+b',
  ]
  expect(diffKinds(text)).toEqual([
    'file',
    'file',
    'file',
    'hunk',
    'removed',
    'added',
    'same',
    'hunk',
    'removed',
    'added',
  ])
})

test('of control sequences only colour and weight count', () => {
  expect(
    ansiPieces('a\u001b[1;31mred\u001b[0m\u001b]8;;http://evil\u0007b\u001b[2J\u001b[38;5;2mc\u001b[39md'),
  ).toEqual([
    { text: 'a', look: '' },
    { text: 'red', look: 'ansi-red ansi-bold' },
    { text: 'b', look: '' },
    { text: 'c', look: 'ansi-green' },
    { text: 'd', look: '' },
  ])
  expect(hasColours('plain \u001b[2J')).toBe(false)
  const many = ansiPieces('\u001b[31mx'.repeat(50_000))
  expect(many.length).toBeLessThan(20_010)
  expect(many.map(({ text }) => text).join('')).toHaveLength(50_000)
})

test('an address in Markdown means a data file of the instance that exists, or nothing', () => {
  const known = new Set(['docs/a b.png', 'top.md', 'docs/deep/x.png'])
  expect(dataPathFrom('docs/report.md', 'a%20b.png', known)).toBe('docs/a b.png')
  expect(dataPathFrom('docs/report.md', './deep/../../top.md#part', known)).toBe('top.md')
  const refused = [
    '../../top.md',
    '/top.md',
    '//evil.example/top.md',
    'https://evil.example/',
    'javascript:alert(1)',
    'data:x',
    '',
  ]
  for (const address of [...refused, '..\\top.md', '%2e%2e%2ftop.md', '%zz', '#top', '?file=top.md', 'missing.png']) {
    expect(dataPathFrom('docs/report.md', address, known)).toBeUndefined()
  }
})

test('the kind and the icon of a file follow from its name', () => {
  expect(
    ['a.md', 'a.CSV', 'a.patch', 'a.json', 'a.png', 'a.log', 'a.svg', 'a.html', 'a.constructor'].map(previewKind),
  ).toEqual(['markdown', 'table', 'diff', 'json', 'image', 'text', 'none', 'none', 'none'])
  expect(['a.ts', 'a.tar', 'a.bin', 'a.jsonl', 'notes'].map(iconOf)).toEqual(['code', 'box', 'file', 'braces', 'words'])
})

function changed(...children: Node[]): Node[] {
  const tree: Node = { type: 'root', children }
  markdownMore()(tree)
  return tree.children ?? []
}

const paragraph = (value: string): Node => ({ type: 'paragraph', children: [{ type: 'text', value }] })

test('a paragraph with a rule under its head is a table; others stay as they are', () => {
  const [before, table] = changed(paragraph('Words:\n| a | b |\n|:--|--:|\n| 1 | 2 |\n| 3 |'))
  expect(before?.children?.[0]?.value).toBe('Words:')
  expect(table).toMatchObject({ type: 'table', align: ['left', 'right'] })
  const cells = table?.children?.map((row) => row.children?.map((cell) => cell.children?.[0]?.value))
  expect(cells).toEqual([
    ['a', 'b'],
    ['1', '2'],
    ['3', undefined],
  ])
  for (const text of ['a | b\nc | d', '| a | b |\n|---|', 'a\n---', '|---|---|\n| a | b |']) {
    expect(changed(paragraph(text))[0]?.type).toBe('paragraph')
  }
  const many = Array.from({ length: 200 }, () => paragraph(`|a|\n|-|\n${'|1|\n'.repeat(99)}`))
  expect(changed(...many).filter(({ type }) => type === 'table').length).toBeLessThanOrEqual(50)
})

test('tasks, struck text and bare links are found, and text that looks alike is not', () => {
  const item = (value: string): Node => ({ type: 'listItem', checked: null, children: [paragraph(value)] })
  const [list] = changed({ type: 'list', children: [item('[x] done'), item('[ ] open'), item('[y] neither')] })
  expect(list?.children?.map(({ checked }) => checked)).toEqual([true, false, null])
  const [line] = changed(paragraph('see https://example.org/a?b=1. ~~old~~ ~~ not'))
  expect(line?.children?.map(({ type, value, url }) => url ?? value ?? type)).toEqual([
    ...['see ', 'https://example.org/a?b=1', '. ', 'delete', ' ~~ not'],
  ])
})

const REPORT = `# Findings

| source | score | note |
|---|---:|---|
| One | 0.91 | **kept** |
| Two | 0.84 | [page](https://example.org/) |

- [x] read
- [ ] checked

![The curve](img/curve.png) ![far](https://evil.example/x.png) ![up](../../secret.png)

<img src="https://evil.example/y.png" onerror="alert(1)"> [table](scores.csv) [bad](javascript:alert(1))
`

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGNgaGDAioaqBHMDAKRGPwHjtcV2AAAAAElFTkSuQmCC'

const files = plainResolver(
  `
  const put = (path, text) => { fs.mkdirSync(root + '/data/' + path.split('/').slice(0, -1).join('/'), { recursive: true }); fs.writeFileSync(root + '/data/' + path, text) }
  put('report/findings.md', ${JSON.stringify(REPORT)})
  put('report/img/curve.png', Buffer.from(${JSON.stringify(PIXEL)}, 'base64'))
  put('report/scores.csv', 'name,score\\nAda,3\\n"Lovelace, A.",12\\n')
  put('work/change.patch', 'diff --git a/x b/x\\n--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\n-old words\\n+new words\\n')
  put('work/build.log', 'start\\n\\u001b[31mit failed\\u001b[0m\\n')
  put('work/result.json', JSON.stringify({ ok: true, deep: { list: [1, 2, { three: 3 }] } }))
  put('work/broken.png', 'no image')
  put('work/run.sh', 'echo hi')
  put('tool.bin', 'binary')
  me.finish({ status: 'completed' })
`,
  { name: 'files' },
)

describePage('the data tab', () => {
  let server: Server
  let token: string
  let at: string

  beforeAll(async () => {
    server = await startServer([files])
    token = await newToken(server.home)
    const call = callerOf(server, token)
    const id = await createInstance(call, 'files')
    await untilStatus(call, id, 'completed')
    at = `${server.url}/instances/${id}/data`
  })

  afterAll(async () => {
    await server?.close()
  })

  test('shows each kind of file in its way, and requests nothing of another server', async () => {
    const { context, complaints } = await openContext({ reducedMotion: 'reduce' })
    const page = await signedIn(context, server, token)
    const others: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith(server.url) && !request.url().startsWith('blob:')) others.push(request.url())
    })
    await page.goto(`${at}?file=report%2Ffindings.md`)
    await page.getByRole('columnheader', { name: 'score' }).waitFor()
    expect(await page.getByRole('cell', { name: 'kept' }).count()).toBe(1)
    expect(await page.getByRole('img', { name: 'done', exact: true }).count()).toBe(1)
    await page.getByRole('img', { name: 'The curve' }).waitFor()
    await page.getByText('[image: far] [image: up]').waitFor()
    expect(await page.locator('.markdown img').count()).toBe(1)
    expect(await page.getByRole('link', { name: 'bad' }).count()).toBe(0)
    expect(await findings(page)).toEqual([])

    await page.locator('.markdown').getByRole('link', { name: 'table' }).click()
    await expect.poll(() => page.getByRole('row').count()).toBe(3)
    await page.getByRole('cell', { name: 'Lovelace, A.' }).waitFor()
    await page.getByRole('button', { name: 'Source' }).click()
    await page.getByText('"Lovelace, A.",12').waitFor()

    await page.getByRole('searchbox', { name: 'Filter files' }).fill('work patch')
    const list = page.getByRole('navigation', { name: 'Files' })
    await expect.poll(() => list.getByRole('link').count()).toBe(1)
    await list.getByRole('link', { name: /change.patch/ }).click()
    expect(await page.locator('[data-line="added"]').textContent()).toBe('+new words\n')
    await page.getByRole('searchbox', { name: 'Filter files' }).fill('')
    await list.getByRole('link', { name: /build.log/ }).click()
    expect(await page.locator('.ansi-red').textContent()).toBe('it failed')
    await list.getByRole('link', { name: /result.json/ }).click()
    await page.getByRole('button', { name: /1 key/ }).first().waitFor()
    await list.getByRole('link', { name: /broken.png/ }).click()
    await page.getByText('not an image that the browser can show').waitFor()
    await list.getByRole('button', { name: 'work' }).click()
    expect(await list.getByRole('link', { name: /build.log/ }).count()).toBe(0)
    expect(await findings(page)).toEqual([])

    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /Save all/ }).click(),
    ])
    expect(saved.suggestedFilename()).toMatch(/^data-[0-9a-f]{12}\.tar\.gz$/)
    expect(readFileSync(await saved.path()).subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]))
    expect(others).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })

  test('an unknown address shows the page and says so; a wrong field is red', async () => {
    const { context } = await openContext()
    const page = await signedIn(context, server, token)
    expect((await page.goto(`${server.url}/nothing/here`))?.status()).toBe(404)
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
    await page.goto(`${server.url}/?resolver=tour`)
    await page.getByLabel('Put up a plaque').check()
    await page.getByLabel('Inscription').waitFor()
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    const wrong = page.locator('.field [aria-invalid="true"]').first()
    await wrong.waitFor()
    const [red, drawn] = await wrong.evaluate((input) => {
      const probe = document.createElement('i')
      probe.style.color = 'var(--red)'
      document.body.append(probe)
      return [getComputedStyle(probe).color, getComputedStyle(input).borderTopColor]
    })
    expect(drawn).toBe(red)
    await context.close()
  })

  test('on a phone the list leads to a file, and the file back to the list', async () => {
    const { context } = await openContext({ viewport: { width: 390, height: 800 } })
    const page = await signedIn(context, server, token)
    await page.goto(at)
    const list = page.getByRole('navigation', { name: 'Files' })
    await list.getByRole('link', { name: /scores.csv/ }).click()
    await page.getByRole('cell', { name: 'Ada' }).waitFor()
    expect(await list.isVisible()).toBe(false)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
    await page.getByRole('link', { name: '‹ All files' }).click()
    await list.waitFor()
    expect(await page.locator('.preview').isVisible()).toBe(false)
    expect(await findings(page)).toEqual([])
    await context.close()
  })
})
