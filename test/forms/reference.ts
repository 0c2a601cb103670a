/** A second, naive reading of the dialect, straight from the specification's table: what validate is compared with. */
import { runInNewContext } from 'node:vm'
import type { Binding, DynamicBoolean, Form } from '../../src/core/protocol/form.ts'

export function referenceMessages(form: Form, payload: unknown): string[] {
  const messages: string[] = []
  for (const component of form.components) {
    for (const check of component.checks ?? []) if (!truth(check.condition, payload)) messages.push(check.message)
  }
  return messages
}

export function truth(condition: DynamicBoolean, payload: unknown): boolean {
  if (condition === true || condition === false) return condition
  if (!('call' in condition)) return cast(lookUp(condition, payload))
  switch (condition.call) {
    case 'and':
      return condition.args.conditions.filter((part) => !truth(part, payload)).length === 0
    case 'or':
      return condition.args.conditions.filter((part) => truth(part, payload)).length > 0
    case 'not':
      return truth(condition.args.condition, payload) === false
    case 'required':
      return ![null, ''].includes(lookUp(condition.args[0], payload) as null)
    case 'email':
      return emailByHand(lookUp(condition.args[0], payload))
    case 'regex': {
      const value = lookUp(condition.args.value, payload)
      return ['string', 'number'].includes(typeof value) && matchInTime(condition.args.pattern, `${value}`)
    }
    case 'length':
      return inside(sizeOf(lookUp(condition.args.value, payload)), condition.args)
    case 'numeric':
      return inside(numberOf(lookUp(condition.args.value, payload)), condition.args)
  }
}

/** What costs too much fails (R34): told by a clock that a crowded machine does not reach. */
const PATTERN_LIMIT_MS = 5_000

function matchInTime(pattern: string, text: string): boolean {
  try {
    return runInNewContext(
      'new RegExp(pattern, "u").test(text)',
      { pattern, text },
      { timeout: PATTERN_LIMIT_MS },
    ) as boolean
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false
    throw error
  }
}

function inside(size: number | null, { min, max }: { min?: number; max?: number }): boolean {
  return size !== null && !(min !== undefined && size < min) && !(max !== undefined && size > max)
}

export function lookUp({ path }: Binding, payload: unknown): unknown {
  let at: unknown = payload
  for (const key of path.replace(/^\//, '').split('/')) {
    if (Array.isArray(at)) at = Array.from(at.keys(), String).includes(key) ? at[Number(key)] : null
    else if (at !== null && typeof at === 'object') at = new Map(Object.entries(at)).get(key) ?? null
    else return null
  }
  return at ?? null
}

function cast(value: unknown): boolean {
  return !['""', '0', '[]', '{}', 'null', 'false'].includes(JSON.stringify(value))
}

function sizeOf(value: unknown): number | null {
  return typeof value === 'string' || Array.isArray(value) ? [...value].length : null
}

function numberOf(value: unknown): number | null {
  if (typeof value === 'boolean' || typeof value === 'object') return null
  const text = String(value).trim()
  const number = Number(text)
  return text === '' || /^[+-]?0[xob]/i.test(text) || !Number.isFinite(number) ? null : number
}

function emailByHand(value: unknown): boolean {
  if (typeof value !== 'string') return false
  const [local, domain, ...rest] = value.split('@')
  if (local === undefined || domain === undefined || rest.length > 0) return false
  const parts = domain.split('.')
  const word = (text: string, more: string) =>
    text !== '' && [...text].every((c) => more.includes(c) || c === '_' || /\p{L}|\p{N}/u.test(c))
  return (
    word(local, '.+-') && parts.length > 1 && parts.every((part, at) => word(part, at < parts.length - 1 ? '-' : ''))
  )
}
