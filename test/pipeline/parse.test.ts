/** The parser of pipelines: what is one meaning is read, every problem is told with its place. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { textOf } from '../../src/pipeline/language/graph.ts'
import { EDGES_MAX, NODES_MAX, parsePipeline, SOURCE_MAX_BYTES } from '../../src/pipeline/language/parse.ts'

function read(source: string) {
  const { graph, diagnostics } = parsePipeline(source)
  const nodes = Object.fromEntries(
    [...graph.nodes.values()].map(({ id, attributes, classes }) => [
      id,
      { ...Object.fromEntries([...attributes].map(([name, { text }]) => [name, text])), classes },
    ]),
  )
  const edges = graph.edges.map(({ from, to, attributes }) => [
    from,
    to,
    Object.fromEntries([...attributes].map(([name, { text }]) => [name, text])),
  ])
  return {
    name: graph.name,
    goal: textOf(graph.attributes, 'goal'),
    nodes,
    edges,
    problems: diagnostics.map(({ severity, line, column, message }) => `${severity} ${line}:${column} ${message}`),
  }
}

const none: string[] = []

test('nodes, edges, attributes, comments', () => {
  const found = read(`// a comment
    digraph demo { /* and
      one more */
      goal = "Ship it"; rankdir=LR
      start [shape=Mdiamond]
      build [label="Build", prompt="Do \\"it\\"\\nnow", max_retries=2];
      start -> build -> done [label="next", weight=3]
      done [shape=Msquare]
    }`)
  expect(found).toEqual({
    name: 'demo',
    goal: 'Ship it',
    nodes: {
      start: { shape: 'Mdiamond', classes: none },
      build: { label: 'Build', prompt: 'Do "it"\nnow', max_retries: '2', classes: none },
      done: { shape: 'Msquare', classes: none },
    },
    edges: [
      ['start', 'build', { label: 'next', weight: '3' }],
      ['build', 'done', { label: 'next', weight: '3' }],
    ],
    problems: [],
  })
})

test.each([
  ['no commas', 'a [label="A" timeout="1800"\n retries=2]', { label: 'A', timeout: '1800', max_retries: '2' }],
  ['semicolons and a comma at the end', 'a [label=A; timeout=5s,]', { label: 'A', timeout: '5s' }],
  ['several blocks', 'a [label=A] [timeout=5s]', { label: 'A', timeout: '5s' }],
  [
    'dotted and quoted keys',
    'a [human.default_choice=Y, "context.goal"="$goal"]',
    {
      'human.default_choice': 'Y',
      'context.goal': '$goal',
    },
  ],
  ['a model without quotes', 'a [llm_model=claude-opus-4-6]', { llm_model: 'claude-opus-4-6' }],
  ['a negative number', 'a [weight=-3]', { weight: '-3' }],
  [
    'aliases',
    'a [node_type=tool, script="ls", default_choice=n]',
    {
      type: 'tool',
      tool_command: 'ls',
      'human.default_choice': 'n',
    },
  ],
  ['the canonical name before its alias', 'a [prompt=one, llm_prompt=two]', { prompt: 'one' }],
  ['the canonical name after its alias', 'a [llm_prompt=two, prompt=one]', { prompt: 'one' }],
  ['a line that goes on', 'a [prompt="one \\\ntwo"]', { prompt: 'one two' }],
  ['unknown escapes', 'a [prompt="\\d\\$\\."]', { prompt: '\\d\\$\\.' }],
  ['texts put together', 'a [prompt="one " + "two"]', { prompt: 'one two' }],
  ['attributes that no rule knows', 'a [color=red, "x.y"=1]', { color: 'red', 'x.y': '1' }],
])('attributes: %s', (_, statement, wanted) => {
  const { nodes, problems } = read(`digraph { ${statement} }`)
  expect(problems).toEqual([])
  expect(nodes['a']).toEqual({ ...wanted, classes: [] })
})

test.each([
  ['a chain', 'a -> b -> c', ['a b', 'b c']],
  ['no spaces', 'a->b', ['a b']],
  ['groups, with spaces and with commas', 'a -> {b c}; {b, c} -> d', ['a b', 'a c', 'b d', 'c d']],
  ['a group in the middle', 'a -> {b; c} -> d', ['a b', 'a c', 'b d', 'c d']],
  ['a subgraph as a group', 'a -> subgraph s { b c }', ['a b', 'a c']],
  ['quoted names', '"my node" -> b', ['my node b']],
])('edges: %s', (_, statement, wanted) => {
  const { edges, problems } = read(`digraph { ${statement} }`)
  expect(problems).toEqual([])
  expect(edges.map(([from, to]) => `${from} ${to}`)).toEqual(wanted)
})

test('defaults hold for what is declared after them, in their scope; a subgraph gives its label as a class', () => {
  const { nodes, edges, problems } = read(`digraph {
    early
    node [timeout=5s, class="all"]
    edge [weight=2]
    subgraph cluster_x {
      label="Loop A!"
      node [timeout=9s]
      inner [class="own, other"]
      inner -> early
    }
    late [timeout=1s]
    late -> later [weight=7]
    later
  }`)
  expect(problems).toEqual([])
  expect(nodes).toEqual({
    early: { classes: ['loop-a'] },
    inner: { timeout: '9s', class: 'own, other', classes: ['own', 'other', 'loop-a'] },
    late: { timeout: '1s', class: 'all', classes: ['all'] },
    later: { timeout: '5s', class: 'all', classes: ['all'] },
  })
  expect(edges).toEqual([
    ['inner', 'early', { weight: '2' }],
    ['late', 'later', { weight: '7' }],
  ])
})

test.each([
  [
    'graph g { a -- b }',
    [
      'error 1:1 A pipeline is a directed graph.',
      'error 1:13 An edge without a direction; a pipeline is a directed graph.',
    ],
  ],
  ['strict digraph { a }', ['error 1:1 A pipeline is no strict graph.']],
  ['digraph { a } digraph { b }', ['error 1:15 A file holds one graph.']],
  ['hello', ['error 1:1 A pipeline begins with "digraph".']],
  ['', ['error 1:1 A pipeline begins with "digraph".']],
  ['digraph {\n  a [label="x]\n}', ['error 2:12 A text begins here and does not end.']],
  ['digraph {\n  a [label=\\"x\\"]\n  b\n}', ['error 2:12 A quote that begins a value must not be escaped.']],
  ['digraph { a [label=<b>x</b>] }', ['error 1:20 HTML labels are not supported.']],
  ['digraph { a:n -> b }', ['error 1:11 Ports of nodes are not supported.']],
  ['digraph { a [label] }', ['error 1:14 The attribute "label" has no value.']],
  ['digraph { a [label=] }', ['error 1:20 Expected a value, and found "]".']],
  ['digraph { a [x=1\n b -> c }', ['error 1:13 A bracket opens here and is not closed.']],
  ['digraph {\n  a -> ;\n  b = \n  c [x=1]\n}', ['error 2:8 Expected a node, an edge or an attribute, and found ";".']],
  ['digraph { a', ['error 1:9 A brace opens here and is not closed.']],
  ['digraph { /* a }', ['error 1:11 A comment begins here and does not end.']],
  ['digraph { node-1 }', ['warning 1:11 "node-1" is no name of a node.']],
  ['digraph { ? }', ['error 1:11 Unexpected "?".']],
])('problem in %j', (source, wanted) => {
  const { problems } = read(source)
  for (const one of wanted) expect(problems).toContain(one)
})

test('every problem is told at once, and what is whole is read', () => {
  const { nodes, problems } = read('digraph {\n  a [label]\n  b [=3]\n  ok [label="fine"]\n  -> c\n  last\n}')
  expect(problems.map((one) => one.split(' ')[1])).toEqual(['2:6', '3:6', '5:3'])
  expect(nodes['ok']).toEqual({ label: 'fine', classes: [] })
  expect(nodes['last']).toBeDefined()
})

test('limits: bytes, nodes, edges, braces', () => {
  const at = (source: string) => read(source).problems
  expect(at(`digraph { a [prompt="${'x'.repeat(SOURCE_MAX_BYTES)}"] }`)).toEqual([
    `error 1:1 The source has more than ${SOURCE_MAX_BYTES} bytes.`,
  ])
  const names = Array.from({ length: NODES_MAX + 2 }, (_, n) => `n${n}`)
  expect(at(`digraph { ${names.join(';')} }`)).toHaveLength(1)
  expect(at(`digraph { ${names.slice(0, NODES_MAX).join(';')} }`)).toEqual([])
  const group = `{${names.slice(0, 101).join(' ')}}`
  const { edges, problems } = read(`digraph { ${group} -> ${group} }`)
  expect(edges).toHaveLength(EDGES_MAX)
  expect(problems).toHaveLength(1)
  expect(at(`digraph ${'{'.repeat(5_000)}`).length).toBeGreaterThan(0)
})

test('no text makes it throw, and every problem has a place in the text', () => {
  const piece = fc.constantFrom(
    ...['digraph', '{', '}', '[', ']', '->', '--', '=', ',', ';', '"', '\\', 'a', 'node', 'edge', 'graph', 'subgraph'],
    ...['label', ' ', '\n', '//', '/*', '*/', '<', '>', '#', '+', '1', 'x.y', '-', ':', '?', '\u0000'],
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece, { maxLength: 60 }).map((all) => all.join('')),
      ),
      (source) => {
        const { diagnostics } = parsePipeline(source)
        const lines = source.split('\n')
        for (const { line = 0, column = 0 } of diagnostics) {
          expect(line).toBeGreaterThan(0)
          expect(line).toBeLessThanOrEqual(lines.length)
          expect(column).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 1)
        }
      },
    ),
    { numRuns: 2_000 },
  )
})
