/**
 * JSON Schema builders whose values carry their TypeScript type. Each shape of `protocol/` is written once with them; its
 * documentation, its type ({@link Static}) and its validator ({@link file://./fits.ts}; ajv on the server) derive from that
 * value. Runs in a browser too. Unused shapes are left out of a bundle, because building one has no side effect.
 */

declare const TYPE: unique symbol
/** The name of the shape as a component of the OpenAPI document. A symbol, so that no validator takes it for a keyword. */
export const NAME = Symbol('name')

export interface Schema<T = unknown> {
  /** Exists only for the compiler. */
  readonly [TYPE]: T
  readonly [NAME]?: string
  readonly [keyword: string]: unknown
}

/** A property that may be absent. */
interface Optional<T = unknown> {
  readonly optional: Schema<T>
}

/** The type of the values that fit a schema. */
export type Static<S extends Schema> = S[typeof TYPE]

type Properties = Readonly<Record<string, Schema | Optional>>
type RequiredNames<P> = { [K in keyof P]: P[K] extends Optional ? never : K }[keyof P]
type OptionalNames<P> = { [K in keyof P]: P[K] extends Optional ? K : never }[keyof P]
type Fields<P> = { [K in RequiredNames<P>]: P[K] extends Schema<infer T> ? T : never } & {
  [K in OptionalNames<P>]?: P[K] extends Optional<infer T> ? T : never
}
type Flat<T> = { [K in keyof T]: T[K] }

/** Keywords that do not change the type. */
type Keywords = Readonly<Record<string, unknown>>

/* @__NO_SIDE_EFFECTS__ */
function schema<T>(keywords: Keywords): Schema<T> {
  return keywords as Schema<T>
}

/* @__NO_SIDE_EFFECTS__ */
export function text(keywords: Keywords = {}): Schema<string> {
  return schema({ type: 'string', ...keywords })
}

/** ISO-8601 in UTC. */
/* @__NO_SIDE_EFFECTS__ */
export function time(): Schema<string> {
  return text({ format: 'date-time', description: 'ISO-8601, UTC' })
}

/* @__NO_SIDE_EFFECTS__ */
export function flag(keywords: Keywords = {}): Schema<boolean> {
  return schema({ type: 'boolean', ...keywords })
}

/* @__NO_SIDE_EFFECTS__ */
export function number(keywords: Keywords = {}): Schema<number> {
  return schema({ type: 'number', ...keywords })
}

/* @__NO_SIDE_EFFECTS__ */
export function integer(keywords: Keywords = {}): Schema<number> {
  return schema({ type: 'integer', ...keywords })
}

/** 0 or more. */
/* @__NO_SIDE_EFFECTS__ */
export function count(keywords: Keywords = {}): Schema<number> {
  return integer({ minimum: 0, ...keywords })
}

/* @__NO_SIDE_EFFECTS__ */
export function oneOf<const T extends string>(values: readonly T[], keywords: Keywords = {}): Schema<T> {
  return schema({ type: 'string', enum: [...values], ...keywords })
}

/* @__NO_SIDE_EFFECTS__ */
export function constant<const T extends string | boolean>(value: T): Schema<T> {
  return schema({ type: typeof value, const: value })
}

/* @__NO_SIDE_EFFECTS__ */
export function nothing(): Schema<null> {
  return schema({ type: 'null' })
}

/* @__NO_SIDE_EFFECTS__ */
export function listOf<T>(items: Schema<T>, keywords: Keywords = {}): Schema<T[]> {
  return schema({ type: 'array', items, ...keywords })
}

/** Any JSON value. */
/* @__NO_SIDE_EFFECTS__ */
export function anything(): Schema<unknown> {
  return schema({})
}

/** Any JSON object. */
/* @__NO_SIDE_EFFECTS__ */
export function anyObject<T = unknown>(keywords: Keywords = {}): Schema<Record<string, T>> {
  return schema({ type: 'object', ...keywords })
}

/**
 * An object that has all of these properties, except the {@link optional} ones. It may have more, because fields are added over
 * time.
 */
/* @__NO_SIDE_EFFECTS__ */
export function object<P extends Properties>(properties: P, keywords: Keywords = {}): Schema<Flat<Fields<P>>> {
  const entries = Object.entries(properties)
  const required = entries.filter(([, one]) => !isOptional(one)).map(([name]) => name)
  const plain = Object.fromEntries(entries.map(([name, one]) => [name, isOptional(one) ? one.optional : one]))
  return schema({ type: 'object', properties: plain, ...(required.length === 0 ? {} : { required }), ...keywords })
}

/** An object that has no other properties than these: an error body, or a request that deletes for good. */
/* @__NO_SIDE_EFFECTS__ */
export function closed<P extends Properties>(properties: P): Schema<Flat<Fields<P>>> {
  return object(properties, { additionalProperties: false })
}

/* @__NO_SIDE_EFFECTS__ */
export function optional<T>(one: Schema<T>): Optional<T> {
  return { optional: one }
}

/* @__NO_SIDE_EFFECTS__ */
export function nullable<T>(one: Schema<T>, keywords: Keywords = {}): Schema<T | null> {
  const isPlain = one[NAME] === undefined && typeof one['type'] === 'string' && one['enum'] === undefined
  if (isPlain) return schema({ ...one, type: [one['type'], 'null'], ...keywords })
  return schema({ anyOf: [one, nothing()], ...keywords })
}

/* @__NO_SIDE_EFFECTS__ */
export function either<S extends readonly Schema[]>(...choices: S): Schema<Static<S[number]>> {
  return schema({ anyOf: choices })
}

/** A component of the OpenAPI document. */
/* @__NO_SIDE_EFFECTS__ */
export function named<T>(name: string, one: Schema<T>, description?: string): Schema<T> {
  return schema({ ...(description === undefined ? {} : { description }), ...one, [NAME]: name })
}

function isOptional(one: Schema | Optional): one is Optional {
  return 'optional' in one
}
