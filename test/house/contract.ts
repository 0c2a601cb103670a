/**
 * The whole contract as lines, one for each field of a request, an answer or an event: `Instance.status: created|starting|…`. The test
 * beside this compares them with the stored ones and says what a change means.
 */
import { EVENT_DATA } from '../../src/core/protocol/api/events.ts'
import type { Operation } from '../../src/core/protocol/api/operation.ts'
import { OPERATIONS } from '../../src/core/protocol/api/operations.ts'
import { errorBody, formErrorBody } from '../../src/core/protocol/http.ts'
import { NAME, type Schema } from '../../src/core/schema/schema.ts'

export type Lines = ReadonlyMap<string, string>

export function contractLines(): Lines {
  const lines = new Map<string, string>()
  const shapes = new Map<string, Schema>()
  const walk = (at: string, schema: Schema): void => {
    lines.set(at, typeOf(schema, shapes))
    // What it holds stands under its name.
    if (schema[NAME] !== undefined) return
    for (const [name, inside] of fieldsOf(schema)) walk(`${at}.${name}`, inside)
  }
  for (const operation of Object.values(OPERATIONS) as Operation[]) {
    const name = `${operation.method} ${operation.path}`
    lines.set(name, `scope ${operation.scope ?? 'none'}`)
    for (const place of ['query', 'headers', 'body'] as const) {
      const schema = operation[place]
      if (schema !== undefined) walk(`${name} takes ${place}`, schema)
    }
    for (const [status, { json, type = 'nothing' }] of Object.entries(operation.answers)) {
      if (json === undefined) lines.set(`${name} gives ${status}`, type)
      else walk(`${name} gives ${status}`, json)
    }
    for (const code of operation.refuses ?? []) lines.set(`${name} refuses with ${code}`, 'yes')
  }
  for (const schema of [errorBody, formErrorBody]) typeOf(schema, shapes)
  for (const [event, schema] of Object.entries(EVENT_DATA)) {
    if (schema === null) lines.set(`event ${event}`, 'not written yet')
    else walk(`event ${event}`, schema)
  }
  const done = new Set<string>()
  for (let left = [...shapes]; left.length > 0; left = [...shapes].filter(([name]) => !done.has(name))) {
    for (const [name, schema] of left) {
      done.add(name)
      // Its own name is what it is called elsewhere; here it is what it has.
      walk(name, { ...schema, [NAME]: undefined } as unknown as Schema)
    }
  }
  return new Map([...lines].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** What is wrong with going from the stored contract to the present one: a sentence each. */
export function breaksBetween(before: Lines, now: Lines): string[] {
  const gone = [...before.keys()].filter((at) => !now.has(at))
  const changed = [...before.keys()].filter((at) => now.has(at) && now.get(at) !== before.get(at))
  const added = [...now.keys()].filter((at) => !before.has(at))
  return [
    ...gone
      .filter((at) => isToldOnce(at, gone))
      .map((at) => `${at} is gone. ${BREAKING} a client of today asks for it.`),
    ...changed.map(
      (at) => `${at} was ${before.get(at)} and is ${now.get(at)}. ${BREAKING} a client of today expects what it was.`,
    ),
    ...added
      .filter((at) => isRequired(now.get(at)) && before.has(holderOf(at)))
      .map(
        (at) =>
          `${at} is new and required. Make it optional(…): a ${at.includes(' takes ') ? 'client of today does not send it' : 'server of today does not give it'}.`,
      ),
  ]
}

const BREAKING = 'CONTRIBUTING.md calls that breaking:'

/** What stands inside of something that is gone is gone with it. */
function isToldOnce(at: string, gone: readonly string[]): boolean {
  return !gone.some((other) => other !== at && (at.startsWith(`${other}.`) || at.startsWith(`${other} `)))
}

function isRequired(type: string | undefined): boolean {
  return type?.endsWith(' (required)') === true
}

function holderOf(at: string): string {
  return at.slice(0, at.lastIndexOf('.'))
}

function fieldsOf(schema: Schema): [string, Schema][] {
  const { properties, required = [], items, anyOf } = schema as Record<string, unknown>
  const isRequiredField = (name: string) => (required as string[]).includes(name)
  const fields = Object.entries((properties ?? {}) as Record<string, Schema>).map(([name, field]): [string, Schema] => [
    name,
    isRequiredField(name) ? ({ ...field, isRequired: true } as unknown as Schema) : field,
  ])
  const choices = ((anyOf ?? []) as Schema[]).flatMap((choice, at): [string, Schema][] =>
    choice[NAME] === undefined && choice['properties'] !== undefined ? [[`choice ${at + 1}`, choice]] : [],
  )
  const inside = items as Schema | undefined
  const list: [string, Schema][] =
    inside?.['properties'] !== undefined && inside[NAME] === undefined ? [['each', inside]] : []
  return [...fields, ...choices, ...list]
}

function typeOf(schema: Schema, shapes: Map<string, Schema>): string {
  const {
    type,
    enum: values,
    const: constant,
    items,
    anyOf,
    isRequired,
    pattern,
    ...rest
  } = schema as Record<string, unknown>
  const limits = ['minLength', 'maxLength', 'minimum', 'maximum', 'maxItems', 'additionalProperties']
    .filter((keyword) => rest[keyword] !== undefined)
    .map((keyword) => `${keyword} ${JSON.stringify(rest[keyword])}`)
  const name = schema[NAME]
  if (name !== undefined) shapes.set(name, schema)
  const kind =
    name ??
    (anyOf === undefined ? undefined : (anyOf as Schema[]).map((one) => typeOf(one, shapes)).join(' or ')) ??
    (values === undefined ? undefined : (values as string[]).join('|')) ??
    (constant === undefined ? undefined : JSON.stringify(constant)) ??
    (type === undefined ? 'anything' : [type].flat().join('|'))
  const of = items === undefined ? '' : ` of ${typeOf(items as Schema, shapes)}`
  const like = pattern === undefined ? '' : ` like ${pattern}`
  const limited = limits.length === 0 || name !== undefined ? '' : `, ${limits.join(', ')}`
  return `${kind}${of}${like}${limited}${isRequired === true ? ' (required)' : ''}`
}
