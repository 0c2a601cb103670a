/** Holds the pages that list facts of the code against the code, in both directions. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { describeError, ERROR_CODES } from '../../src/core/errors.ts'
import { PLATFORM_EVENTS, RESOLVER_EVENTS } from '../../src/core/protocol/event.ts'
import { STATUSES } from '../../src/core/protocol/status.ts'
import { evilModes, modesOfContainers } from '../support/evil-modes.ts'
import { rooms } from './rooms.ts'
import { root } from './source-files.ts'

const page = (path: string) => readFileSync(join(root, path), 'utf8')

/** The cells of every table row of a page whose first cell is code. */
function rowsOf(path: string): string[][] {
  const lines = page(path).split('\n')
  const rows = lines.filter((line) => /^\| *`[^`]+`/.test(line)).map((line) => line.split('|').slice(1, -1))
  return rows.map((cells) => cells.map((cell) => cell.trim()))
}

const bare = (cell: string | undefined) => (cell ?? '').replaceAll('`', '')

test('docs/errors.md lists every code of the catalogue with its kind, HTTP status and exit code, and no other', () => {
  const listed = rowsOf('docs/errors.md').map(([code, kind, http, exit]) => [bare(code), kind, http, exit].join(' '))
  const known = ERROR_CODES.map((code) => {
    const { kind, http, exit } = describeError(code)
    return [code, kind, http, exit].join(' ')
  })
  expect(listed.toSorted()).toEqual(known.toSorted())
})

test('docs/events.md lists every event of tiers 1 and 2, and no other (R17, R18)', () => {
  const listed = rowsOf('docs/events.md')
    .map(([name]) => bare(name))
    .filter((name) => /^(?:platform\.|resolver:)/.test(name))
  expect(listed.toSorted()).toEqual([...PLATFORM_EVENTS, ...RESOLVER_EVENTS].toSorted())
})

test('docs/reliability.md lists every mode of the evil resolver as it ends, and no other', () => {
  const listed = rowsOf('docs/reliability.md').map(([mode, ending]) => [bare(mode), bare(ending)])
  const known = [...evilModes, ...modesOfContainers].map(
    ({ mode, ends = 'completed', refusal, rejected = [], only }) => {
      const ending = refusal === undefined ? [ends].flat().join(' or ') : `not created: ${refusal}`
      const refused = rejected.length === 0 ? '' : `; refused: ${rejected.join(', ')}`
      return [mode, `${ending}${refused}${only === 'docker' ? ' (in a container only)' : ''}`]
    },
  )
  expect(listed.toSorted()).toEqual(known.toSorted())
})

test('docs/reliability.md numbers its faults from F1 without a gap, and every test that it names exists', () => {
  const faults = [...page('docs/reliability.md').matchAll(/^\| \*\*(F\d+)\*\* /gm)].map(([, fault]) => fault)
  expect(faults.length).toBeGreaterThanOrEqual(27)
  expect(faults).toEqual(Array.from({ length: faults.length }, (_, at) => `F${at + 1}`))
  const named = [...page('docs/reliability.md').matchAll(/test\/[\w/.-]+\.ts\b/g)].map(([path]) => path)
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

test('ARCHITECTURE.md shows every room of the table, and for each the rooms it may import', () => {
  const rows = [...page('ARCHITECTURE.md').matchAll(/^\| `src\/([\w/-]+?)(?:\/|\.ts)` \|.*\|([^|]*)\|$/gm)]
  const shown = rows.map(([, room, cell = '']) => [room, [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name)])
  expect(Object.fromEntries(shown)).toEqual(rooms)
})

test('ARCHITECTURE.md shows every status', () => {
  expect(STATUSES.filter((status) => !page('ARCHITECTURE.md').includes(`\`${status}\``))).toEqual([])
})

test('ARCHITECTURE.md, Where to look, names files of the core that exist', () => {
  const [, section = ''] = page('ARCHITECTURE.md').split('## Where to look\n')
  const [table = ''] = section.split('\n## ')
  const named = [...table.matchAll(/`([a-z][\w-]*\/[\w/.-]*)`/g)].map(([, path = '']) => path)
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter((path) => path !== 'src/core' && !existsSync(join(root, 'src/core', path)))).toEqual([])
})

test('every link of a page to a file of the checkout exists', () => {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map((file) => `docs/${file}`)
  const pages = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', ...docs].filter((file) => file.endsWith('.md'))
  const broken = pages.flatMap((file) => {
    const links = [...page(file).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map((match) => match[1] ?? '')
    return links.filter((link) => !existsSync(resolve(root, dirname(file), link))).map((link) => `${file}: ${link}`)
  })
  expect(broken).toEqual([])
})

test('the README names the two commands that do everything', () => {
  expect(page('README.md')).toContain('npm run demo')
  expect(page('README.md')).toContain('npm test')
})
