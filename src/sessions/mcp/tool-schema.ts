/**
 * Makes of the schema that an MCP server tells one that every provider takes: known keywords of the right types, references put in place,
 * bounded in depth and size. Pure. A provider refuses a whole request for one bad schema.
 */
import { MCP_SCHEMA_MAX_BYTES, MCP_SCHEMA_MAX_DEPTH, MCP_SCHEMA_MAX_NODES } from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'

type Json = Readonly<Record<string, unknown>>

/** An object's schema. What can't be kept is left out: the server checks its input itself. */
export function toolSchema(told: unknown): Json {
  const cleaned = isObject(told) ? new Cleaner(told).clean(told, 0) : {}
  const schema = { ...cleaned, type: 'object', properties: cleaned['properties'] ?? {} }
  return JSON.stringify(schema).length > MCP_SCHEMA_MAX_BYTES ? ANY : schema
}

const ANY: Json = { type: 'object', properties: {} }
const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']
const NUMBERS = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems']
const CHOICES = ['anyOf', 'oneOf', 'allOf']
const TEXT_MAX_CHARS = 1_000
const VALUES_MAX = 500

class Cleaner {
  readonly #root: Json
  #left = MCP_SCHEMA_MAX_NODES

  constructor(root: Json) {
    this.#root = root
  }

  clean(value: unknown, depth: number): Record<string, unknown> {
    this.#left -= 1
    const at = this.#follow(value)
    if (at === undefined || depth > MCP_SCHEMA_MAX_DEPTH || this.#left < 0) return {}
    const kept: Record<string, unknown> = {}
    const types = [at['type']].flat().filter((one) => TYPES.includes(one as string))
    if (types.length > 0) kept['type'] = types.length === 1 ? types[0] : types
    const { description, enum: values, const: only, required, items, properties, additionalProperties } = at
    if (typeof description === 'string') kept['description'] = description.slice(0, TEXT_MAX_CHARS)
    if (Array.isArray(values) && values.length > 0 && values.every(isScalar)) kept['enum'] = values.slice(0, VALUES_MAX)
    // An enum of one says the same, and every provider knows it.
    else if (only !== undefined && isScalar(only)) kept['enum'] = [only]
    for (const name of NUMBERS) if (Number.isFinite(at[name])) kept[name] = at[name]
    if (isObject(properties)) {
      const all = Object.entries(properties).map(([name, one]) => [name, this.clean(one, depth + 1)] as const)
      // A name such as __proto__ stays a name.
      kept['properties'] = Object.fromEntries(all)
      const names = Array.isArray(required) ? required.filter((one) => Object.hasOwn(properties, one as string)) : []
      if (names.length > 0) kept['required'] = [...new Set(names)]
    }
    if (types.includes('array') || isObject(items)) kept['items'] = this.clean(items, depth + 1)
    if (typeof additionalProperties === 'boolean') kept['additionalProperties'] = additionalProperties
    else if (isObject(additionalProperties)) kept['additionalProperties'] = this.clean(additionalProperties, depth + 1)
    for (const name of CHOICES) {
      const choices = at[name]
      if (Array.isArray(choices) && choices.length > 0) kept[name] = choices.map((one) => this.clean(one, depth + 1))
    }
    return kept
  }

  /** Puts a definition of the same schema in the place of its reference. */
  #follow(value: unknown): Json | undefined {
    if (!isObject(value)) return undefined
    const [, where = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(value['$ref'] ?? '')) ?? []
    const definitions = this.#root[where]
    if (!isObject(definitions) || !Object.hasOwn(definitions, name)) return value
    const { $ref: _, ...own } = value
    const meant = definitions[name]
    return isObject(meant) ? { ...meant, ...own } : own
  }
}

function isScalar(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}
