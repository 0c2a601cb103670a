/** `model_stylesheet` of a graph: which model a node has where it does not say so itself (docs/pipelines.md, Models). */
import { type PipelineNode, textOf } from './graph.ts'

export interface StyleRule {
  kind: 'all' | 'shape' | 'class' | 'id'
  name: string
  properties: ReadonlyMap<string, string>
}

export type StylesheetResult =
  | { isOk: true; rules: StyleRule[] }
  | { isOk: false; message: string /** In UTF-16 units from the start. */; at: number }

const PROPERTIES: Readonly<Record<string, string>> = {
  llm_model: 'llm_model',
  model: 'llm_model',
  llm_provider: 'llm_provider',
  provider: 'llm_provider',
  reasoning_effort: 'reasoning_effort',
}
const STRENGTH = { all: 0, shape: 1, class: 2, id: 3 } as const
const PROPERTY = /^[A-Za-z_][\w-]*$/
/** Each is looked at for each node. */
const RULES_MAX = 1_000
const SELECTOR = /^(?:(\*)|#([\w-]+)|\.([\w-]+)|([A-Za-z_][\w-]*))$/

export function parseStylesheet(source: string): StylesheetResult {
  const text = withoutComments(source)
  const rules: StyleRule[] = []
  let at = 0
  while (text.slice(at).trim() !== '') {
    const open = text.indexOf('{', at)
    if (open === -1) return refused('Expected "selector { property: value; }".', firstOf(text, at))
    const close = text.indexOf('}', open)
    if (close === -1) return refused('A brace opens here and is not closed.', open)
    const properties = new Map<string, string>()
    let begin = open + 1
    for (const part of text.slice(open + 1, close).split(';')) {
      const colon = part.indexOf(':')
      const [name, value] = [part.slice(0, Math.max(0, colon)).trim(), part.slice(colon + 1).trim()]
      if (PROPERTY.test(name) && value !== '') {
        const canonical = Object.hasOwn(PROPERTIES, name) ? PROPERTIES[name] : undefined
        if (canonical !== undefined) properties.set(canonical, value.replace(/^(["'])([\s\S]*)\1$/, '$2'))
      } else if (part.trim() !== '') return refused('Expected "property: value".', firstOf(text, begin))
      begin += part.length + 1
    }
    for (const selector of text.slice(at, open).split(',')) {
      const [whole, all, id, className, shape] = SELECTOR.exec(selector.trim()) ?? []
      if (whole === undefined)
        return refused(`"${selector.trim()}" is no selector: *, shape, .class or #id.`, firstOf(text, at))
      if (rules.length >= RULES_MAX) return refused(`A stylesheet has at most ${RULES_MAX} rules.`, firstOf(text, at))
      const kind = all !== undefined ? 'all' : id !== undefined ? 'id' : className !== undefined ? 'class' : 'shape'
      rules.push({ kind, name: id ?? className ?? shape ?? '', properties })
    }
    at = close + 1
  }
  return { isOk: true, rules }
}

/** Comments keep their length, so that places stay right. One that does not end is no comment. */
function withoutComments(source: string): string {
  const parts: string[] = []
  let at = 0
  for (let open = source.indexOf('/*'); open !== -1; open = source.indexOf('/*', at)) {
    const close = source.indexOf('*/', open + 2)
    if (close === -1) break
    parts.push(source.slice(at, open), ' '.repeat(close + 2 - open))
    at = close + 2
  }
  return [...parts, source.slice(at)].join('')
}

function refused(message: string, at: number): StylesheetResult {
  return { isOk: false, message, at }
}

function firstOf(text: string, at: number): number {
  const found = text.slice(at).search(/\S/)
  return found === -1 ? at : at + found
}

/** The strongest rule wins, of equals the last. What the node says itself is not looked at. */
export function styleOf(rules: readonly StyleRule[], node: PipelineNode): ReadonlyMap<string, string> {
  const shape = textOf(node.attributes, 'shape') ?? 'box'
  const fitting = rules.filter(({ kind, name }) => {
    if (kind === 'id') return name === node.id
    if (kind === 'class') return node.classes.includes(name)
    return kind === 'all' || name === shape
  })
  const style = new Map<string, string>()
  for (const { properties } of fitting.toSorted((one, other) => STRENGTH[one.kind] - STRENGTH[other.kind])) {
    for (const [name, value] of properties) style.set(name, value)
  }
  return style
}
