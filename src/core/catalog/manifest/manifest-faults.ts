/** Turns ajv's errors for a manifest into sentences for its author; {@link file://./parse-manifest.ts} calls it. */
import type { ErrorObject } from 'ajv'

const SHOWN_CHARS = 80

/** One sentence per fault, in the order of the schema; several errors about one value become one sentence. */
export function describeFaults(found: readonly ErrorObject[], value: unknown): string[] {
  const sentences = new Map<string, string>()
  for (const fault of found) {
    const field = fieldAt(fault.instancePath)
    const key = `${fault.instancePath}|${nameInside(fault) ?? ''}`
    if (!sentences.has(key)) sentences.set(key, sentenceOf(fault, field, value))
  }
  return [...sentences.values()]
}

function sentenceOf(fault: ErrorObject, field: string, value: unknown): string {
  const within = field === '' ? '' : `${field}.`
  if (fault.keyword === 'required') {
    const missing = String(fault.params['missingProperty'])
    const rule = ruleOf(fault.parentSchema?.['properties']?.[missing])
    return `${within}${missing} is missing; it must be ${rule}.`
  }
  if (fault.keyword === 'additionalProperties') {
    return `${within}${show(fault.params['additionalProperty'], 'bare')} is not a field a manifest can have.`
  }
  if (fault.keyword === 'not') return `${field} must not be ${show(fault.data)}: that name is reserved.`
  const subject = field === '' ? 'The manifest' : field
  return `${subject} must be ${ruleOf(fault.parentSchema)}; it is ${show(field === '' ? value : fault.data)}.`
}

function nameInside(fault: ErrorObject): string | undefined {
  const name = fault.params['missingProperty'] ?? fault.params['additionalProperty']
  return name === undefined ? undefined : `${fault.keyword}:${name}`
}

function ruleOf(schema: unknown): string {
  const rule = (schema as { description?: unknown } | undefined)?.description
  return typeof rule === 'string' ? rule : 'as the schema says'
}

/** `/container/setup_commands/1` → `container.setup_commands[1]`. */
function fieldAt(pointer: string): string {
  const parts = pointer.split('/').slice(1)
  let field = ''
  for (const part of parts) {
    if (/^\d+$/.test(part)) field += `[${part}]`
    else field += `${field === '' ? '' : '.'}${part.replaceAll('~1', '/').replaceAll('~0', '~')}`
  }
  return field
}

/** The value as one short line of JSON; control characters are escaped. */
export function show(value: unknown, as: 'quoted' | 'bare' = 'quoted'): string {
  if (value === undefined) return 'missing'
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? describeList(value) : 'a JSON object'
  const json = JSON.stringify(typeof value === 'string' ? value.slice(0, SHOWN_CHARS + 1) : value)
  const text = as === 'bare' && typeof value === 'string' ? json.slice(1, -1) : json
  const safe = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)
  const isCut = typeof value === 'string' && value.length > SHOWN_CHARS
  return isCut ? `${safe.slice(0, SHOWN_CHARS)}…${as === 'bare' ? '' : '"'}` : safe
}

function describeList(list: readonly unknown[]): string {
  return list.length === 0 ? 'an empty list' : `a list of ${list.length}`
}
