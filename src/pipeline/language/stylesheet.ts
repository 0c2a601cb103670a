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
const SELECTOR = /^(?:(\*)|#([\w-]+)|\.([\w-]+)|([A-Za-z_][\w-]*))$/

export function parseStylesheet(source: string): StylesheetResult {
  // Comments keep their length, so that places stay right.
  const text = source.replace(/\/\*[\s\S]*?\*\//g, (comment) => ' '.repeat(comment.length))
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
      const [, name, value] = /^\s*([A-Za-z_][\w-]*)\s*:\s*([\s\S]*?)\s*$/.exec(part) ?? []
      if (name !== undefined && value !== undefined && value !== '') {
        const canonical = PROPERTIES[name]
        if (canonical !== undefined) properties.set(canonical, value.replace(/^(["'])([\s\S]*)\1$/, '$2'))
      } else if (part.trim() !== '') return refused('Expected "property: value".', firstOf(text, begin))
      begin += part.length + 1
    }
    for (const selector of text.slice(at, open).split(',')) {
      const [whole, all, id, className, shape] = SELECTOR.exec(selector.trim()) ?? []
      if (whole === undefined)
        return refused(`"${selector.trim()}" is no selector: *, shape, .class or #id.`, firstOf(text, at))
      const kind = all !== undefined ? 'all' : id !== undefined ? 'id' : className !== undefined ? 'class' : 'shape'
      rules.push({ kind, name: id ?? className ?? shape ?? '', properties })
    }
    at = close + 1
  }
  return { isOk: true, rules }
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
