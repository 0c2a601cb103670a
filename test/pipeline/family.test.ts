/** A pipeline and those that it runs, checked together before anything runs. */
import { expect, test } from 'vitest'
import { checkFamily, FAMILY_DEPTH_MAX } from '../../src/pipeline/check/family.ts'

const pipeline = (body: string) =>
  `digraph { start [shape=Mdiamond] exit [shape=Msquare] start -> work -> exit; ${body} }`
const running = (...paths: string[]) =>
  `digraph { start [shape=Mdiamond] exit [shape=Msquare] start ${paths.map((_, n) => `-> c${n}`).join(' ')} -> exit
    ${paths.map((path, n) => `c${n} [shape=folder, dot_file="${path}"]`).join('\n')} }`
const LEAF = pipeline('work [shape=parallelogram, tool_command=true]')

function check(files: Record<string, string>, lookUp?: (name: string) => string | undefined) {
  const read: string[] = []
  const family = checkFamily({
    path: 'main.dot',
    source: files['main.dot'] as string,
    read(path) {
      read.push(path)
      return files[path]
    },
    ...(lookUp === undefined ? {} : { lookUp }),
  })
  const told = family.diagnostics
    .filter(({ severity }) => severity !== 'info')
    .map(({ rule, file = '-', node_id: node = '-' }) => `${rule} ${file} ${node}`)
  return { ...family, told, read }
}

test('children are found from the directory of the pipeline that names them, and read once', () => {
  const found = check({
    'main.dot': running('sub/a.dot', 'sub/b.dot', '/lib/c.dot'),
    'sub/a.dot': running('b.dot', '../top.dot'),
    'sub/b.dot': LEAF,
    'top.dot': LEAF,
    '/lib/c.dot': LEAF,
  })
  expect(found.told).toEqual([])
  expect([...found.members.keys()]).toEqual(['main.dot', 'sub/a.dot', 'sub/b.dot', 'top.dot', '/lib/c.dot'])
  expect(found.read).toHaveLength(4)
  expect(found.members.get('sub/a.dot')?.children).toEqual(
    new Map([
      ['c0', 'sub/b.dot'],
      ['c1', 'top.dot'],
    ]),
  )
})

test('a manager names its child at itself or at the graph; variables of the input are filled in, others wait for the run', () => {
  const manager = 'work [shape=house]'
  const found = check(
    {
      'main.dot': running('$which.dot', '$later.dot', 'g.dot', 'n.dot'),
      'one.dot': LEAF,
      'g.dot': pipeline(`stack.child_dotfile="one.dot"; ${manager}`),
      'n.dot': pipeline('work [shape=house, "stack.child_workflow"="gone.dot"]'),
    },
    (name) => (name === 'which' ? 'one' : undefined),
  )
  expect(found.told).toEqual(['child_missing n.dot work'])
  expect(found.isRunnable).toBe(true)
  expect([...found.members.keys()]).toEqual(['main.dot', 'one.dot', 'g.dot', 'n.dot'])
})

test('what is wrong in a child is told with its file', () => {
  const found = check({ 'main.dot': running('a.dot'), 'a.dot': 'digraph { a -> }' })
  expect(found.isRunnable).toBe(false)
  expect(found.diagnostics.find(({ severity }) => severity === 'error')).toMatchObject({ file: 'a.dot', line: 1 })
})

test.each<[what: string, files: Record<string, string>, told: string]>([
  ['itself', { 'main.dot': running('./main.dot') }, 'child_cycle - c0'],
  [
    'a pipeline that runs it',
    { 'main.dot': running('a.dot'), 'a.dot': running('b.dot'), 'b.dot': running('a.dot') },
    'child_cycle b.dot c0',
  ],
])('a pipeline that runs %s is refused before it runs', (_, files, told) => {
  const found = check(files)
  expect(found.told).toEqual([told])
  expect(found.isRunnable).toBe(false)
})

const line = (length: number) =>
  Object.fromEntries(
    Array.from({ length }, (_, n) => [
      n === 0 ? 'main.dot' : `${n}.dot`,
      n === length - 1 ? LEAF : running(`${n + 1}.dot`),
    ]),
  )

test(`pipelines run at most ${FAMILY_DEPTH_MAX} deep, by whichever way`, () => {
  expect(check(line(FAMILY_DEPTH_MAX)).told).toEqual([])
  expect(check(line(FAMILY_DEPTH_MAX + 1)).told).toEqual(['child_depth 7.dot c0'])
  // The short way comes first, so that the depth of 2.dot is known when the long way leads there.
  const files = line(FAMILY_DEPTH_MAX)
  expect(check({ ...files, 'main.dot': running('2.dot', '1.dot') }).told).toEqual([])
  expect(check({ ...files, 'main.dot': running('2.dot', 'x.dot'), 'x.dot': running('1.dot') }).told).toEqual([
    'child_depth 1.dot c0',
  ])
})

test('a pipeline with too many children is refused', () => {
  const paths = Array.from({ length: 70 }, (_, n) => `${n}.dot`)
  const found = check({ 'main.dot': running(...paths), ...Object.fromEntries(paths.map((path) => [path, LEAF])) })
  expect(found.members.size).toBe(64)
  expect(found.told).toHaveLength(7)
  expect(found.isRunnable).toBe(false)
})
