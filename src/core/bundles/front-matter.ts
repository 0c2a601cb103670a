/**
 * YAML that a stranger wrote: the front matter of a Markdown file, or a whole file. The readers of bundles and skills call it. What is broken
 * gives the fields that can be read all the same, and a fault; nothing here throws.
 */
import { LineCounter, parseDocument } from 'yaml'
import { SESSION_BUNDLE_FRONT_MAX_BYTES, SESSION_BUNDLE_YAML_MAX_BYTES } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'

export interface Front {
  fields: Record<string, unknown>
  body: string
  /** What is wrong with it, in a few words. */
  fault?: string
}

const FENCED = /^\ufeff?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n([\s\S]*))?$/
/** Nested brackets cost the parser a call each. */
const NESTING_MAX = 64

/** How much YAML one reader takes: what a stranger sends must not hold a host for long. */
export class YamlBudget {
  #left = SESSION_BUNDLE_YAML_MAX_BYTES

  /** A text without a front matter is all body. */
  front(text: string): Front {
    const [whole, front = '', body = ''] = FENCED.exec(text) ?? []
    if (whole === undefined) return { fields: {}, body: text }
    return { ...this.yaml(front), body }
  }

  yaml(text: string): Omit<Front, 'body'> {
    this.#left -= Buffer.byteLength(text)
    return this.#left < 0 ? { fields: {}, fault: 'there is too much YAML in these bundles' } : parseYaml(text)
  }
}

export function parseYaml(text: string): Omit<Front, 'body'> {
  if (Buffer.byteLength(text) > SESSION_BUNDLE_FRONT_MAX_BYTES)
    return { fields: {}, fault: `its YAML has more than ${SESSION_BUNDLE_FRONT_MAX_BYTES} bytes` }
  if (nestingOf(text) > NESTING_MAX) return { fields: {}, fault: `its YAML is nested deeper than ${NESTING_MAX}` }
  try {
    const lineCounter = new LineCounter()
    const document = parseDocument(text, { strict: false, logLevel: 'silent', uniqueKeys: false, lineCounter })
    const [error] = document.errors
    const value: unknown = document.toJS({ maxAliasCount: 50 })
    const fields = isObject(value) ? value : {}
    if (error === undefined) return { fields }
    const line = lineCounter.linePos(error.pos[0]).line
    return { fields: { ...fields, ...plainFields(text, fields) }, fault: `its YAML is broken in line ${line}` }
  } catch {
    return { fields: plainFields(text, {}), fault: "its YAML can't be read" }
  }
}

/** What a line says of itself: other platforms read a description with a colon in it as it stands. Fields that are texts or lists stay. */
function plainFields(text: string, parsed: Record<string, unknown>): Record<string, string> {
  const found: Record<string, string> = {}
  let name = ''
  for (const line of text.split('\n')) {
    const [, key, rest = ''] = /^(name|description|tools|model|color):[ \t]*(.*)$/.exec(line) ?? []
    if (key !== undefined) name = key
    if (name !== '') found[name] = key === undefined ? `${found[name]}\n${line}` : rest
  }
  const isSound = (key: string) => typeof parsed[key] === 'string' || Array.isArray(parsed[key])
  return Object.fromEntries(Object.entries(found).filter(([key]) => !isSound(key)))
}

/** An estimate from above, without parsing: brackets in texts count too. */
function nestingOf(text: string): number {
  let [depth, most] = [0, 0]
  for (const char of text) {
    if (char === '[' || char === '{') most = Math.max(most, ++depth)
    else if (char === ']' || char === '}') depth = Math.max(0, depth - 1)
  }
  const indents = text.split('\n').map((line) => /^[ \t?-]*/.exec(line)?.[0].length ?? 0)
  return Math.max(most, Math.max(0, ...indents) / 2)
}

/** A field that is a text; undefined for any other value. */
export function textIn(fields: unknown, name: string): string | undefined {
  const value = isObject(fields) && Object.hasOwn(fields, name) ? fields[name] : undefined
  return typeof value === 'string' ? value : undefined
}

/** A field that is an object; empty for any other value. */
export function objectIn(fields: unknown, name: string): Record<string, unknown> {
  const value = isObject(fields) && Object.hasOwn(fields, name) ? fields[name] : undefined
  return isObject(value) ? value : {}
}

/** A field that is a list; one text counts as a list of one. */
export function listIn(fields: unknown, name: string): unknown[] {
  const value = isObject(fields) && Object.hasOwn(fields, name) ? fields[name] : undefined
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value : []
}
