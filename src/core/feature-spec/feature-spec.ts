/** The shapes of a parsed feature spec (spec, Instance input (spec) authoring contract). */

export interface SpecItem {
  line: number
  text: string
}

export interface Endpoint {
  line: number
  /** The heading above it; null where there is none. */
  title: string | null
  method: string
  /** Begins with `/`; parameters are `{name}`. */
  path: string
  /** Its success statuses, the first one first. */
  status: number[]
  /** The example of a request; undefined where it has none. */
  request: unknown
  /** The examples of answers, in order. */
  responses: unknown[]
}

export interface ErrorCase extends SpecItem {
  status: number
  trigger: string
}

/** What can be requested and compared as it stands: no parameter is open. */
export interface ProofCheck {
  method: string
  path: string
  /** undefined: without a body. */
  body: unknown
  status: number
  /** Texts that the answer contains. */
  contains: string[]
  /** Top-level fields of the answer with their values. */
  fields: { name: string; equals: string | number | boolean | null }[]
}

export interface ProofItem extends SpecItem {
  method: string | null
  path: string | null
  /** null where a part of it is open, such as a parameter of the path: a person or a model has to carry it out. */
  check: ProofCheck | null
}

export interface FeatureSpec {
  /** The text that it was parsed from. */
  source: string
  title: string | null
  intent: SpecItem
  endpoints: Endpoint[]
  validation: SpecItem[]
  errors: ErrorCase[]
  integration: SpecItem[]
  proof: ProofItem[]
}
