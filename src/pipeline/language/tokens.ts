/** Cuts the source of a pipeline into tokens. Never throws: what is no token is reported and passed over. */
import type { Offset } from './diagnostic.ts'

export interface Token {
  kind: 'word' | 'string' | '->' | '{' | '}' | '[' | ']' | '=' | ',' | ';' | '+' | 'end'
  /** A string without its quotes and with its escapes read. */
  text: string
  at: Offset
  end: Offset
  /** Whether it is the first one of its line: where a reader would say that a statement begins. */
  isFirst: boolean
}

export type Report = (at: Offset, message: string, fix?: string) => void

const MARKS = new Set(['{', '}', '[', ']', '=', ',', ';', '+'])
const WORD_START = /[\p{L}\p{N}_.$@/\-~]/u
const SPACE = /\s/

export function tokensOf(source: string, report: Report): Token[] {
  const tokens: Token[] = []
  let at = source.startsWith('\ufeff') ? 1 : 0
  let isFirst = true
  const add = (kind: Token['kind'], text: string, end: number) => {
    tokens.push({ kind, text, at, end, isFirst })
    at = end
    isFirst = false
  }
  while (at < source.length) {
    const char = source[at] as string
    if (SPACE.test(char)) {
      if (char === '\n') isFirst = true
      at += 1
    } else if (source.startsWith('//', at) || (char === '#' && isFirst)) {
      const end = source.indexOf('\n', at)
      at = end === -1 ? source.length : end
    } else if (source.startsWith('/*', at)) {
      const end = source.indexOf('*/', at + 2)
      if (end === -1) report(at, 'A comment begins here and does not end.', 'write */ at its end')
      at = end === -1 ? source.length : end + 2
    } else if (source.startsWith('->', at)) add('->', '->', at + 2)
    else if (source.startsWith('--', at)) {
      report(at, 'An edge without a direction; a pipeline is a directed graph.', 'write ->')
      add('->', '--', at + 2)
    } else if (char === '"') {
      const { text, end } = stringAt(source, at, report)
      add('string', text, end)
    } else if (char === '<') {
      report(at, 'HTML labels are not supported.', 'write the text in double quotes')
      add('string', '', endOfHtml(source, at))
    } else if (source.startsWith('\\"', at)) {
      report(at, 'A quote that begins a value must not be escaped.', 'write " without the backslash')
      at = endOfLine(source, at)
    } else if (MARKS.has(char)) add(char as Token['kind'], char, at + 1)
    else if (WORD_START.test(char)) add('word', ...wordAt(source, at))
    else {
      report(at, `Unexpected ${JSON.stringify(char)}.`)
      at += 1
    }
  }
  tokens.push({ kind: 'end', text: '', at: source.length, end: source.length, isFirst: true })
  return tokens
}

/** Hyphens belong to a word (`claude-opus-4-6`), the arrow of an edge does not (`A->B`). */
function wordAt(source: string, begin: number): [text: string, end: number] {
  let end = begin
  while (end < source.length) {
    const char = source[end] as string
    if (source.startsWith('->', end) || source.startsWith('--', end) || source.startsWith('//', end)) break
    if (!WORD_START.test(char) && char !== ':' && char !== '%') break
    end += 1
  }
  return [source.slice(begin, Math.max(end, begin + 1)), Math.max(end, begin + 1)]
}

/** `\"`, `\\`, `\n` and `\t` are escapes, a backslash before a line end joins two lines, any other backslash is one. */
function stringAt(source: string, begin: number, report: Report): { text: string; end: number } {
  let text = ''
  let at = begin + 1
  for (;;) {
    const char = source[at]
    if (char === undefined) {
      report(begin, 'A text begins here and does not end.', 'write " at its end')
      return { text, end: source.length }
    }
    if (char === '"') return { text, end: at + 1 }
    if (char !== '\\') {
      text += char
      at += 1
      continue
    }
    const next = source[at + 1] ?? ''
    if (next === '\r' && source[at + 2] === '\n') at += 3
    else {
      text += ESCAPES[next] ?? `\\${next}`
      at += 2
    }
  }
}

const ESCAPES: Readonly<Record<string, string>> = { '"': '"', '\\': '\\', n: '\n', t: '\t', '\n': '' }

function endOfHtml(source: string, begin: number): number {
  let depth = 0
  for (let at = begin; at < source.length; at += 1) {
    if (source[at] === '<') depth += 1
    if (source[at] === '>') depth -= 1
    if (depth === 0) return at + 1
  }
  return source.length
}

function endOfLine(source: string, at: number): number {
  const end = source.indexOf('\n', at)
  return end === -1 ? source.length : end
}
