/**
 * Finds the requirement ids that tests cite: in the title of a test or a describe, or in a comment `// verifies: R31 S-FORM-04`.
 * With each comes what its test needs of the machine, because a test that is skipped shows nothing. Used by coverage.test.ts; the
 * syntax is described in CONTRIBUTING.md.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'vite'

export interface Citation {
  id: string
  file: string
  /** What must be there for the test to run; empty for a test that runs on every machine. */
  needs: readonly string[]
}

/** For a test that never runs, as far as can be told from its source. */
export const NEVER = 'never'

/** Functions that hold tests: vitest's own, and those of test/support and test/web that skip their tests on some machines. */
const RUNNERS = new Map<string, readonly string[]>([
  ['test', []],
  ['it', []],
  ['describe', []],
  ['describeWithDocker', ['Docker']],
  ['describePage', ['Chromium']],
])

/** Conditions of `runIf` and `skipIf` by their source. One that is not listed stands for itself: nothing counts as unconditional unseen. */
const CONDITIONS = new Map<string, readonly string[]>([
  ['skipsTmux', ['tmux']],
  ["!hasTmux && process.env['CI'] === undefined", ['tmux']],
  ['!hasPython', ['Python']],
  ["process.platform === 'linux'", ['Linux']],
  // The local platform has every feature: test/platform/local.test.ts calls the contract without `lacks`.
  ["has('rename')", []],
  ["has('leave')", []],
  // Tests of the short form: an ordinary run.
  ['!isLong', []],
])

interface Node {
  type: string
  start: number
  end: number
  [key: string]: unknown
}

/** A call that holds tests or is one. */
interface Runner {
  start: number
  end: number
  /** Its own needs and those of all calls around it. */
  needs: readonly string[]
  title: string
}

interface Parsed {
  runners: Runner[]
  comments: { text: string; at: number }[]
  /** Calls of any function by its name, with what is needed to get there. */
  calls: { name: string; needs: readonly string[] }[]
}

const ID = /\b(?:R\d+(?:-[A-Z]+)?|S-[A-Z]+-\d+(?:-[A-Z]+)?)\b/g
const VERIFIES = /^\s*verifies:(.*)$/

export function citationsIn(text: string, file = 'some.test.ts'): Citation[] {
  return citationsOf(parse(text, file), file)
}

/** Every citation of the test files below a directory, and of the contract suites: those count once for each test file that runs them. */
export function citationsBelow(directory: string): Citation[] {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  const read = (file: string) => ({ file, parsed: parse(readFileSync(join(directory, file), 'utf8'), file) })
  const tests = files.filter((file) => /\.test\.tsx?$/.test(file)).map(read)
  const contracts = files
    .filter((file) => /(^|\/)contract\.ts$/.test(file))
    .map((file) => {
      const text = readFileSync(join(directory, file), 'utf8')
      const names = [...text.matchAll(/^export function (\w+)/gm)].map((match) => match[1] as string)
      return { file, names, citations: citationsOf(parse(text, file), file) }
    })
  const run = contracts.flatMap(({ names, citations }) => {
    const calls = tests.flatMap(({ parsed }) => parsed.calls.filter(({ name }) => names.includes(name)))
    return calls.flatMap((call) =>
      citations.map((citation) => ({ ...citation, needs: union(call.needs, citation.needs) })),
    )
  })
  return [...tests.flatMap(({ file, parsed }) => citationsOf(parsed, file)), ...run]
}

function citationsOf({ runners, comments }: Parsed, file: string): Citation[] {
  const titles = runners.map(({ title, needs }) => ({ text: title, needs }))
  const notes = comments.map(({ text, at }) => ({ text, needs: testOf(runners, at)?.needs ?? [NEVER] }))
  return [...titles, ...notes].flatMap(({ text, needs }) => (text.match(ID) ?? []).map((id) => ({ id, file, needs })))
}

/** The test that a comment belongs to: the next one in the same block, or the one it is in. */
function testOf(runners: readonly Runner[], at: number): Runner | undefined {
  const around = runners.findLast(({ start, end }) => start < at && at < end)
  const next = runners.find(({ start, end }) => start > at && end <= (around?.end ?? Number.POSITIVE_INFINITY))
  return next ?? around
}

function parse(text: string, file: string): Parsed {
  const { program, comments, errors } = parseSync(file, text, { lang: file.endsWith('x') ? 'tsx' : 'ts' })
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  const parsed: Parsed = { runners: [], comments: [], calls: [] }
  const known = new Map(RUNNERS)
  visit(program as unknown as Node, [])
  parsed.runners.sort((a, b) => a.start - b.start)
  for (const { type, value, start } of comments) {
    const cited = type === 'Line' ? VERIFIES.exec(value)?.[1] : undefined
    if (cited !== undefined) parsed.comments.push({ text: cited, at: start })
  }
  return parsed

  function visit(node: Node, needs: readonly string[]): void {
    noteOwnRunner(node)
    let inside = needs
    if (node.type === 'CallExpression') {
      const callee = node['callee'] as Node
      if (callee.type === 'Identifier') parsed.calls.push({ name: callee['name'] as string, needs })
      const own = needsOfCall(node)
      if (own !== undefined) {
        inside = union(needs, own)
        parsed.runners.push({ start: node.start, end: node.end, needs: inside, title: titleOf(node) })
      }
    }
    for (const child of childrenOf(node)) visit(child, inside)
  }

  /** `const describeAlone = … ? describeWithDocker : describe.skip` makes another function that holds tests. */
  function noteOwnRunner(node: Node): void {
    const init = node['init'] as Node | null | undefined
    if (node.type !== 'VariableDeclarator' || init?.type !== 'ConditionalExpression') return
    const branches = [init['consequent'], init['alternate']] as Node[]
    const needs = branches.map(needsOfRunner)
    if (needs.some((found) => found === undefined)) return
    const runs = needs.filter((found) => found?.includes(NEVER) === false)
    const name = (node['id'] as Node)['name'] as string
    known.set(name, [
      ...(runs[0] ?? [NEVER]),
      ...runs.slice(1).flatMap((found) => found ?? []),
      source(init['test'] as Node),
    ])
  }

  /** What a call of `test('…')`, `describe.skipIf(…)('…')`, `test.each(…)('…')` needs; undefined for any other call. */
  function needsOfCall(call: Node): readonly string[] | undefined {
    const [first, ...others] = call['arguments'] as Node[]
    if (first === undefined || titleOf(call) === '' || others.length === 0) return undefined
    const needs = needsOfRunner(call['callee'] as Node)
    return needs !== undefined && others.some(skips) ? [...needs, NEVER] : needs
  }

  function needsOfRunner(callee: Node): readonly string[] | undefined {
    switch (callee.type) {
      case 'Identifier':
        return known.get(callee['name'] as string)
      case 'MemberExpression': {
        const needs = needsOfRunner(callee['object'] as Node)
        const name = (callee['property'] as Node)['name']
        return needs !== undefined && (name === 'skip' || name === 'todo') ? [...needs, NEVER] : needs
      }
      case 'TaggedTemplateExpression':
        return needsOfRunner(callee['tag'] as Node)
      case 'CallExpression': {
        const needs = needsOfRunner(callee['callee'] as Node)
        const modifier = ((callee['callee'] as Node)['property'] as Node | undefined)?.['name']
        if (needs === undefined || (modifier !== 'runIf' && modifier !== 'skipIf')) return needs
        const condition = source((callee['arguments'] as Node[])[0] as Node)
        return union(needs, CONDITIONS.get(condition) ?? [`${modifier} ${condition}`])
      }
      default:
        return undefined
    }
  }

  function titleOf(call: Node): string {
    const first = (call['arguments'] as Node[])[0]
    const isText =
      first?.type === 'TemplateLiteral' || (first?.type === 'Literal' && typeof first['value'] === 'string')
    return isText ? source(first) : ''
  }

  /** An option that skips the test, or a `context.skip()` in its body. */
  function skips(node: Node): boolean {
    if (node.type === 'ObjectExpression') {
      return (node['properties'] as Node[]).some(({ key }) =>
        ['skip', 'todo'].includes((key as Node)?.['name'] as string),
      )
    }
    const { type, callee } = node as { type: string; callee?: Node }
    const isSkip = type === 'CallExpression' && ((callee as Node)['property'] as Node | undefined)?.['name'] === 'skip'
    // A test inside a describe skips itself alone.
    if (type === 'CallExpression' && !isSkip && titleOf(node) !== '' && needsOfRunner(callee as Node) !== undefined)
      return false
    return (isSkip && needsOfRunner(callee as Node) === undefined) || childrenOf(node).some(skips)
  }

  function source({ start, end }: Node): string {
    return text.slice(start, end)
  }
}

function childrenOf(node: Node): Node[] {
  return Object.values(node).flatMap((value) => (Array.isArray(value) ? value : [value]).filter(isNode))
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'
}

function union(first: readonly string[], second: readonly string[]): string[] {
  return [...new Set([...first, ...second])]
}
