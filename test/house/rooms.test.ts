/** Holds the rooms: who may import whom, and that no import leads back to where it began. */
import { expect, test } from 'vitest'
import { COMMON, CORE_COMMON, rooms } from './rooms.ts'
import { importsOf, roomOf, type SourceFile, sourceFiles } from './source-files.ts'

const files = sourceFiles('src')

test('every file stands in a room of the table, and imports only what its room may', () => {
  expect(files.length).toBeGreaterThan(20)
  expect(trespassesOf(files)).toEqual([])
})

test('an import that the table does not allow is noticed', () => {
  const path = 'src/core/protocol/odd.ts'
  const code = "import { openHost } from '../host/lifecycle/instance-host.ts'\n"
  const odd: SourceFile = { path, text: code, code, imports: importsOf(code, path) }
  expect(trespassesOf([odd])).toEqual(['src/core/protocol/odd.ts imports src/core/host/lifecycle/instance-host.ts'])
})

test('a file of another room is imported by its own name: no import passes through an index inside the core', () => {
  const barrels = files.filter(({ path }) => /\/index\.tsx?$/.test(path)).map(({ path }) => path)
  expect(
    barrels.filter((path) => !['src/core/index.ts', 'src/sdk/index.ts', 'src/commands/index.ts'].includes(path)),
  ).toEqual([])
})

test('neither the SDK, nor a resolver, nor the page takes failpoints in', () => {
  const graph = graphOf(files)
  const takers = files.filter(({ path }) => /^src\/(?:sdk|resolvers|web)\//.test(path)).map(({ path }) => path)
  const reached = new Set(takers)
  for (const path of reached) for (const next of graph.get(path) ?? []) reached.add(next)
  expect(takers.length).toBeGreaterThan(20)
  expect([...reached].filter((path) => path.startsWith('src/core/files/'))).not.toEqual([])
  expect([...reached].filter((path) => path.endsWith('/failpoints.ts'))).toEqual([])
})

test('no file imports itself by way of others', () => {
  expect(circlesIn(graphOf(files))).toEqual([])
})

test('no room leads back to itself by way of others', () => {
  expect(circlesIn(new Map(Object.entries(rooms)))).toEqual([])
})

test('no folder holds more than 16 files beside each other', () => {
  const folders = Map.groupBy(files, ({ path }) => path.slice(0, path.lastIndexOf('/')))
  const crowded = [...folders].filter(([, inside]) => inside.length > 16).map(([folder]) => folder)
  expect(crowded).toEqual([])
})

test('a circle is noticed', () => {
  const graph = new Map([
    ['a', ['b']],
    ['b', ['c']],
    ['c', ['a']],
    ['d', ['a']],
  ])
  expect(circlesIn(graph)).toEqual(['a → b → c → a'])
})

function trespassesOf(sources: readonly SourceFile[]): string[] {
  return sources.flatMap(({ path, imports }) => {
    const room = roomOf(path)
    const inside = imports.flatMap((one) => one.path ?? [])
    // The core's door lists names of the whole core.
    const mayImport = (target: string) =>
      room === 'core/index' ? target.startsWith('src/core/') : isAllowed(room, roomOf(target))
    if (room !== 'core/index' && rooms[room] === undefined) return [`${path} stands in no room`]
    return inside.filter((target) => !mayImport(target)).map((target) => `${path} imports ${target}`)
  })
}

function isAllowed(from: string, to: string): boolean {
  if (from === to) return true
  if (CORE_COMMON.includes(to)) return from.startsWith('core/') && !COMMON.includes(from)
  return COMMON.includes(to) ? !COMMON.includes(from) : (rooms[from] ?? []).includes(to)
}

/** What stays when the program runs, and what the compiler follows: both must be free of circles. */
function graphOf(sources: readonly SourceFile[]): Map<string, string[]> {
  return new Map(sources.map(({ path, imports }) => [path, imports.flatMap((one) => one.path ?? [])]))
}

function circlesIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (path: string, trail: string[]): void => {
    const at = trail.indexOf(path)
    if (at !== -1) circles.push([...trail.slice(at), path].join(' → '))
    if (at !== -1 || done.has(path)) return
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return circles
}
