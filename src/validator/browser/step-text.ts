/** A step of a browser test as a sentence, and its parameters read from the call. */
import type { BrowserStep, BrowserTarget } from '../../core/protocol/check/reality-check.ts'
import { type Fields, fieldsOf, refuse, textOf } from '../shared/params.ts'

const VERBS = ['goto', 'click', 'check', 'uncheck', 'fill', 'select', 'press', 'wait', 'expect', 'expect_page']
const TARGETS = ['role', 'label', 'text', 'placeholder', 'test_id', 'css']

/** The host has parsed it against its schema: here only that it can be carried out. Throws `observation_refused`. */
export function stepOf(value: unknown): BrowserStep {
  const step = fieldsOf(value, 'step')
  const verb = textOf(step, 'verb')
  if (!VERBS.includes(verb)) throw refuse(`there is no verb ${verb.slice(0, 50)}`)
  if (verb === 'goto') textOf(step, 'path')
  if (verb === 'press') textOf(step, 'key')
  if (verb === 'fill' || verb === 'select') textOf(step, 'value')
  if (verb === 'wait' && typeof step['seconds'] !== 'number') throw refuse('seconds is no number')
  const target = step['target'] ?? null
  const needsNone = ['goto', 'wait', 'expect_page'].includes(verb) || (verb === 'press' && target === null)
  if (!needsNone) checkTarget(fieldsOf(target, 'target'))
  const { state = 'visible', count = null, value: field = null, url = null, title = null } = step
  if (verb === 'expect') return { ...step, verb, state, count, value: field } as BrowserStep
  if (verb === 'expect_page') return { verb, url, title } as BrowserStep
  return { ...step, target } as unknown as BrowserStep
}

function checkTarget(target: Fields): void {
  const named = TARGETS.filter((one) => target[one] !== undefined)
  if (named.length !== 1) throw refuse(`target has not exactly one of ${TARGETS.join(', ')}`)
  textOf(target, named[0] as string)
  if (target['name'] !== undefined) textOf(target, 'name')
}

/** `click button "Add"`. */
export function sentenceOf(step: BrowserStep): string {
  switch (step.verb) {
    case 'goto':
      return `goto ${step.path}`
    case 'wait':
      return `wait ${step.seconds} s`
    case 'press':
      return `press ${step.key}${step.target === null ? '' : ` in ${named(step.target)}`}`
    case 'fill':
    case 'select':
      return `${step.verb} ${named(step.target)} with ${JSON.stringify(step.value)}`
    case 'expect_page':
      return ['expect the page', step.url && `at ${step.url}`, step.title && `titled ${JSON.stringify(step.title)}`]
        .filter(Boolean)
        .join(' ')
    case 'expect':
      return `expect ${named(step.target)} ${expected(step)}`
    default:
      return `${step.verb} ${named(step.target)}`
  }
}

function expected({ state, count, value }: Extract<BrowserStep, { verb: 'expect' }>): string {
  if (count !== null) return `${count} times`
  return value === null ? state : `with the value ${JSON.stringify(value)}`
}

function named(target: BrowserTarget): string {
  if ('role' in target) return target.name === undefined ? target.role : `${target.role} ${JSON.stringify(target.name)}`
  const [[kind, text] = ['', '']] = Object.entries(target)
  return `${kind} ${JSON.stringify(text)}`
}
