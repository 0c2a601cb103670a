/** Reads a step of a browser test: a verb with its target (docs/reality-check.md, Browser steps). Pure. */
import { isObject } from '../../primitives/is-object.ts'
import type { BrowserStep, BrowserTarget } from '../../protocol/check/reality-check.ts'
import { type Fields, WishFault } from './fault.ts'
import { readPath } from './http-step.ts'
import { readChoice, readNumber, readObject, readOptionalText, readText } from './read.ts'

export const BROWSER_VERBS = ['goto', 'click', 'fill', 'press', 'select', 'check', 'uncheck', 'wait', 'expect'] as const

type Verb = (typeof BROWSER_VERBS)[number]

const TARGETS = ['role', 'name', 'label', 'text', 'placeholder', 'test_id', 'css'] as const
const TARGET_MAX_CHARS = 1_024
const WAIT_MAX_SECONDS = 30

/** `{<verb>: …, value?, key?}`. Throws a WishFault. */
export function readBrowserStep(verb: Verb, fields: Fields, where: string): BrowserStep {
  const what = fields[verb]
  const at = `${where}.${verb}`
  const takes = verb === 'fill' || verb === 'select' ? [verb, 'value'] : verb === 'press' ? [verb, 'in'] : [verb]
  readObject(fields, where, takes)
  if (verb === 'goto') return { verb, path: readPath(what, at) }
  if (verb === 'wait') return { verb, seconds: readNumber(what, at, { min: 0, max: WAIT_MAX_SECONDS }) }
  if (verb === 'press') return readPress(fields, where)
  if (verb === 'expect') return readExpect(what, at)
  if (verb === 'fill' || verb === 'select')
    return { verb, target: readTarget(what, at), value: readText(fields['value'], `${where}.value`) }
  return { verb, target: readTarget(what, at) }
}

function readPress(fields: Fields, where: string): BrowserStep {
  const key = readText(fields['press'], `${where}.press`, 64)
  if (!/^[\w+ -]{1,64}$|^\S$/.test(key)) throw new WishFault(`${where}.press`, 'a key such as "Enter" or "Control+A"')
  const inside = fields['in']
  return { verb: 'press', key, target: inside === undefined ? null : readTarget(inside, `${where}.in`) }
}

function readExpect(value: unknown, where: string): BrowserStep {
  const fields = readObject(isObject(value) ? value : { text: value }, where, [
    ...TARGETS,
    ...['state', 'count', 'value', 'url', 'title'],
  ])
  if (fields['url'] !== undefined || fields['title'] !== undefined) {
    readObject(fields, where, ['url', 'title'])
    const [url, title] = ['url', 'title'].map((name) => readOptionalText(fields[name], `${where}.${name}`, 2_048))
    return { verb: 'expect_page', url: url ?? null, title: title ?? null }
  }
  const { state = 'visible', count, value: wanted, ...target } = fields
  return {
    verb: 'expect',
    target: readTarget(target, where),
    state: readChoice(state, `${where}.state`, ['visible', 'hidden']),
    count: count === undefined ? null : readNumber(count, `${where}.count`, { min: 0, max: 10_000 }),
    value: readOptionalText(wanted, `${where}.value`),
  }
}

/** A text alone is the text of an element. */
function readTarget(value: unknown, where: string): BrowserTarget {
  const fields = readObject(typeof value === 'string' ? { text: value } : value, where, TARGETS)
  const text = (name: string) => {
    const read = readText(fields[name], `${where}.${name}`, TARGET_MAX_CHARS)
    if (read === '') throw new WishFault(`${where}.${name}`, 'a text that is not empty')
    return read
  }
  const kinds = Object.keys(fields).filter((name) => name !== 'name')
  const [kind] = kinds
  if (kinds.length !== 1 || kind === undefined) throw new WishFault(where, `one of ${TARGETS.join(', ')}`)
  if (kind === 'role') return { role: text('role'), ...(fields['name'] === undefined ? {} : { name: text('name') }) }
  if (fields['name'] !== undefined) throw new WishFault(`${where}.name`, 'left out where there is no "role"')
  return { [kind]: text(kind) } as unknown as BrowserTarget
}
