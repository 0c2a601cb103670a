/**
 * Reads the source of a pipeline (docs/pipelines.md, The file). Tolerant: of what people write in such files, all that has one meaning
 * is read; every problem is reported with its place, and reading goes on at the next statement.
 */
import { type Diagnostic, Lines, type Offset } from './diagnostic.ts'
import type { Parsed, PipelineEdge, PipelineGraph, PipelineNode, Value } from './graph.ts'
import { graphAttribute, nodeAttribute } from './names.ts'
import { type Token, tokensOf } from './tokens.ts'

export const SOURCE_MAX_BYTES = 1024 * 1024
export const NODES_MAX = 2_000
export const EDGES_MAX = 10_000
/** Of one node or edge, and of its defaults: each node has a copy of them. */
export const ATTRIBUTES_MAX = 128
/** Files, questions and sessions are named after nodes. */
export const NAME_MAX_CHARS = 256
const DIAGNOSTICS_MAX = 100
const DEPTH_MAX = 32

export function parsePipeline(source: string): Parsed {
  return new Parser(source).parse()
}

interface MutableNode extends PipelineNode {
  attributes: Map<string, Value>
  classes: string[]
  isImplicit: boolean
}

/** What holds between two braces. */
interface Scope {
  nodeDefaults: ReadonlyMap<string, Value>
  edgeDefaults: ReadonlyMap<string, Value>
  /** Undefined for the graph itself. */
  members: Set<string> | undefined
  label: string | undefined
}

class Parser {
  readonly #source: string
  readonly #lines: Lines
  readonly #diagnostics: Diagnostic[] = []
  readonly #tokens: readonly Token[]
  readonly #nodes = new Map<string, MutableNode>()
  readonly #edges: PipelineEdge[] = []
  readonly #attributes = new Map<string, Value>()
  #next = 0
  #depth = 0
  #isFull = false
  #hasTooMany = false

  constructor(source: string) {
    this.#source = source
    this.#lines = new Lines(source)
    const isTooLong = new TextEncoder().encode(source).length > SOURCE_MAX_BYTES
    if (isTooLong) this.#report(0, `The source has more than ${SOURCE_MAX_BYTES} bytes.`)
    this.#tokens = isTooLong ? [] : tokensOf(source, (at, message, fix) => this.#report(at, message, fix))
  }

  parse(): Parsed {
    let name = ''
    if (this.#tokens.length > 0) name = this.#file()
    for (const node of this.#nodes.values()) {
      const own = (node.attributes.get('class')?.text ?? '').split(/[\s,]+/).filter((one) => one !== '')
      node.classes = [...new Set([...own, ...node.classes])]
    }
    const graph: PipelineGraph = { name, attributes: this.#attributes, nodes: this.#nodes, edges: this.#edges }
    return { graph, diagnostics: this.#diagnostics }
  }

  #file(): string {
    const first = this.#peek()
    if (this.#isWord('strict')) {
      this.#report(first.at, 'A pipeline is no strict graph.', 'leave "strict" out')
      this.#take()
    }
    if (this.#isWord('graph')) this.#report(this.#peek().at, 'A pipeline is a directed graph.', 'write digraph')
    if (!this.#isWord('digraph') && !this.#isWord('graph')) {
      this.#report(first.at, 'A pipeline begins with "digraph".', 'write digraph name { … }')
      return ''
    }
    this.#take()
    const name = this.#isId() ? this.#take().text : ''
    if (!this.#is('{')) {
      this.#report(this.#peek().at, 'Expected "{" after the name of the graph.')
      return name
    }
    const open = this.#take()
    const none: ReadonlyMap<string, Value> = new Map()
    this.#statements({ nodeDefaults: none, edgeDefaults: none, members: undefined, label: undefined }, open)
    this.#skip(';')
    if (!this.#is('end')) {
      const what = this.#isWord('digraph') ? 'A file holds one graph.' : 'Nothing may follow the graph.'
      this.#report(this.#peek().at, what)
    }
    return name
  }

  /** Up to the brace that closes it, which is taken. */
  #statements(scope: Scope, open: Token): void {
    if (this.#depth >= DEPTH_MAX) {
      this.#report(open.at, `Braces stand within braces more than ${DEPTH_MAX} times.`)
      this.#next = this.#tokens.length - 1
      return
    }
    this.#depth += 1
    while (!this.#is('}') && !this.#is('end')) {
      const before = this.#next
      this.#statement(scope)
      if (this.#next === before) this.#take()
      // A comma separates the members of a group.
      while (this.#is(';') || this.#is(',')) this.#take()
    }
    this.#depth -= 1
    if (this.#is('}')) this.#take()
    else this.#report(open.at, 'A brace opens here and is not closed.', 'write } at its end')
  }

  #statement(scope: Scope): void {
    for (const kind of ['graph', 'node', 'edge'] as const) {
      if (this.#isWord(kind) && this.#peek(1).kind === '[') {
        this.#take()
        this.#defaults(scope, kind)
        return
      }
    }
    if (this.#isId() && this.#peek(1).kind === '=') {
      const key = this.#take()
      this.#take()
      const value = this.#value()
      if (value !== undefined) this.#graphValue(scope, key.text, value)
      return
    }
    const from = this.#endpoint(scope)
    if (from === undefined) return
    if (this.#is('->')) this.#edgesFrom(scope, from)
    else if (from.isGroup) this.#noAttributes('A group of nodes')
    else this.#declare(scope, from.ids[0] ?? '', this.#peek(-1).at)
  }

  #defaults(scope: Scope, kind: 'graph' | 'node' | 'edge'): void {
    const at = this.#peek().at
    const given = this.#attributeBlocks(kind)
    if (kind === 'graph') for (const [key, value] of given) this.#graphValue(scope, key, value)
    if (kind === 'node') scope.nodeDefaults = this.#within(at, new Map([...scope.nodeDefaults, ...given]))
    if (kind === 'edge') scope.edgeDefaults = this.#within(at, new Map([...scope.edgeDefaults, ...given]))
  }

  /** The first of them where there are too many, which is reported once. */
  #within(at: Offset, attributes: Map<string, Value>): Map<string, Value> {
    if (attributes.size <= ATTRIBUTES_MAX) return attributes
    if (!this.#hasTooMany) this.#report(at, `A node or an edge has at most ${ATTRIBUTES_MAX} attributes.`)
    this.#hasTooMany = true
    return new Map([...attributes].slice(0, ATTRIBUTES_MAX))
  }

  /** Attributes of a subgraph are its own; only its label means something. */
  #graphValue(scope: Scope, key: string, value: Value): void {
    if (scope.members === undefined) this.#setOnce(this.#attributes, graphAttribute(key), key, value)
    else if (key === 'label') scope.label = value.text
  }

  /** The canonical name wins over its alias; otherwise the last one does. */
  #setOnce(attributes: Map<string, Value>, name: string, written: string, value: Value): void {
    if (name === written || !attributes.has(name)) attributes.set(name, value)
  }

  /** A node, or the members of a group in braces. Undefined: none stands here, which is reported. */
  #endpoint(scope: Scope): { ids: string[]; isGroup: boolean } | undefined {
    if (this.#isWord('subgraph') || this.#is('{')) {
      if (this.#isWord('subgraph')) {
        this.#take()
        if (this.#isId()) this.#take()
      }
      if (!this.#is('{')) {
        this.#fail('Expected "{" of a subgraph.')
        return undefined
      }
      const members = new Set<string>()
      const inner: Scope = { ...scope, members, label: undefined }
      this.#statements(inner, this.#take())
      const className = classOf(inner.label ?? '')
      for (const id of members) {
        scope.members?.add(id)
        const node = this.#nodes.get(id)
        if (className !== '' && node !== undefined && !node.classes.includes(className)) node.classes.push(className)
      }
      return { ids: [...members], isGroup: true }
    }
    if (!this.#isId()) {
      this.#fail(`Expected a node, an edge or an attribute, and found ${shown(this.#peek())}.`)
      return undefined
    }
    const token = this.#take()
    if (token.kind === 'word' && !/^[\p{L}_][\p{L}\p{N}_]*$/u.test(token.text)) {
      const [, id, port] = /^([\p{L}_][\p{L}\p{N}_]*):(.*)$/u.exec(token.text) ?? []
      if (id !== undefined && port !== undefined) {
        this.#report(token.at, 'Ports of nodes are not supported.', `write ${id}`)
        return this.#mentioned(scope, id, token.at)
      }
      // A number, or a name with a hyphen or a dot: it means one thing only.
      this.#report(token.at, `"${token.text}" is no name of a node.`, `write "${token.text}" in quotes`, 'warning')
    }
    return this.#mentioned(scope, token.text, token.at)
  }

  #mentioned(scope: Scope, id: string, at: Offset): { ids: string[]; isGroup: boolean } | undefined {
    if (!this.#nodes.has(id)) {
      if (id.length > NAME_MAX_CHARS) {
        this.#report(at, `The name of a node has at most ${NAME_MAX_CHARS} characters.`)
        return { ids: [], isGroup: false }
      }
      if (this.#nodes.size >= NODES_MAX) {
        if (!this.#isFull) this.#report(at, `A pipeline has at most ${NODES_MAX} nodes.`)
        this.#isFull = true
        return { ids: [id], isGroup: false }
      }
      const attributes = new Map(scope.nodeDefaults)
      this.#nodes.set(id, { id, at, attributes, classes: [], isImplicit: true })
    }
    scope.members?.add(id)
    return { ids: [id], isGroup: false }
  }

  #declare(scope: Scope, id: string, at: Offset): void {
    const given = this.#attributeBlocks('node')
    const node = this.#nodes.get(id)
    if (node === undefined) return
    if (node.isImplicit) {
      // The defaults at its declaration, where an edge had named it before.
      for (const [key, value] of scope.nodeDefaults) if (!node.attributes.has(key)) node.attributes.set(key, value)
      node.at = at
    }
    node.isImplicit = false
    for (const [key, value] of given) node.attributes.set(key, value)
    node.attributes = this.#within(at, node.attributes)
  }

  #edgesFrom(scope: Scope, first: { ids: string[] }): void {
    const chain = [first.ids]
    const at: Offset[] = []
    while (this.#is('->')) {
      at.push(this.#take().at)
      const next = this.#endpoint(scope)
      if (next === undefined) return
      chain.push(next.ids)
    }
    const given = this.#attributeBlocks('edge')
    const attributes =
      given.size === 0
        ? scope.edgeDefaults
        : this.#within(this.#peek(-1).at, new Map([...scope.edgeDefaults, ...given]))
    for (const [step, place] of at.entries()) {
      for (const from of chain[step] ?? []) {
        for (const to of chain[step + 1] ?? []) {
          this.#addEdge({ from, to, at: place, attributes })
          if (this.#isFull) return
        }
      }
    }
  }

  #addEdge(edge: PipelineEdge): void {
    if (this.#edges.length < EDGES_MAX) this.#edges.push(edge)
    else if (!this.#isFull) {
      this.#isFull = true
      this.#report(edge.at, `A pipeline has at most ${EDGES_MAX} edges.`)
    }
  }

  #noAttributes(what: string): void {
    if (!this.#is('[')) return
    this.#report(this.#peek().at, `${what} takes no attributes.`, 'give them to each node, or by node [ … ]')
    this.#attributeBlocks('node')
  }

  #attributeBlocks(kind: 'graph' | 'node' | 'edge'): Map<string, Value> {
    const found = new Map<string, Value>()
    while (this.#is('[')) {
      const open = this.#take()
      while (!this.#is(']') && !this.#is('end')) {
        if (this.#is(',') || this.#is(';')) {
          this.#take()
          continue
        }
        if (!this.#attribute(kind, found, open)) return found
      }
      if (this.#is(']')) this.#take()
      else this.#report(open.at, 'A bracket opens here and is not closed.', 'write ] at its end')
    }
    return found
  }

  /** False: the block was given up, since it seems not to be closed. */
  #attribute(kind: 'graph' | 'node' | 'edge', found: Map<string, Value>, open: Token): boolean {
    if (!this.#isId()) {
      const token = this.#peek()
      if (token.kind === '{' || token.kind === '}' || token.kind === '->') {
        this.#report(open.at, 'A bracket opens here and is not closed.', 'write ] at its end')
        if (token.kind !== '}') this.#recover()
        return false
      }
      this.#report(token.at, `Expected the name of an attribute, and found ${shown(token)}.`)
      // With the value that may stand behind it.
      do this.#take()
      while (!this.#is(',') && !this.#is(';') && !this.#is(']') && !this.#is('end') && !this.#peek().isFirst)
      return true
    }
    const key = this.#take()
    if (!this.#is('=')) {
      this.#report(key.at, `The attribute "${key.text}" has no value.`, `write ${key.text}=…`)
      return true
    }
    this.#take()
    const value = this.#value()
    if (value === undefined) return true
    const name = kind === 'node' ? nodeAttribute(key.text) : kind === 'graph' ? graphAttribute(key.text) : key.text
    this.#setOnce(found, name, key.text, value)
    return true
  }

  #value(): Value | undefined {
    const token = this.#peek()
    if (token.kind !== 'word' && token.kind !== 'string') {
      this.#report(token.at, `Expected a value, and found ${shown(token)}.`, 'write it in double quotes')
      return undefined
    }
    this.#take()
    let text = token.text
    while (token.kind === 'string' && this.#is('+') && this.#peek(1).kind === 'string') {
      this.#take()
      text += this.#take().text
    }
    return { text, at: token.at }
  }

  #fail(message: string): void {
    this.#report(this.#peek().at, message)
    this.#recover()
  }

  /** To where the next statement seems to begin. */
  #recover(): void {
    do this.#take()
    while (!this.#is('end') && !this.#is(';') && !this.#is('}') && !(this.#peek().isFirst && this.#isId()))
  }

  #peek(ahead = 0): Token {
    const at = Math.min(this.#next + ahead, this.#tokens.length - 1)
    return this.#tokens[at] as Token
  }

  #take(): Token {
    const token = this.#peek()
    if (token.kind !== 'end') this.#next += 1
    return token
  }

  #is(kind: Token['kind']): boolean {
    return this.#peek().kind === kind
  }

  #isId(): boolean {
    return this.#is('word') || this.#is('string')
  }

  /** A keyword, in any case, as Graphviz has it. */
  #isWord(text: string): boolean {
    return this.#is('word') && this.#peek().text.toLowerCase() === text
  }

  #skip(kind: Token['kind']): void {
    while (this.#is(kind)) this.#take()
  }

  #report(at: Offset, message: string, fix?: string, severity: Diagnostic['severity'] = 'error'): void {
    if (this.#diagnostics.length >= DIAGNOSTICS_MAX) return
    const place = this.#lines.of(Math.min(at, this.#source.length))
    this.#diagnostics.push({ rule: 'syntax', severity, message, ...place, ...(fix === undefined ? {} : { fix }) })
  }
}

function shown(token: Token): string {
  if (token.kind === 'end') return 'the end of the file'
  const text = token.text.length > 40 ? `${token.text.slice(0, 40)}…` : token.text
  return JSON.stringify(text)
}

/** `Loop A` → `loop-a`. */
export function classOf(label: string): string {
  return label
    .toLowerCase()
    .replaceAll(' ', '-')
    .replace(/[^a-z0-9-]/g, '')
}
