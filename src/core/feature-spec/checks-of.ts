/**
 * The criteria of a reality check that follow from a feature spec (spec, Reality check): its text, and a check for each proof and endpoint that can
 * be requested as it stands. The resolver that builds a feature calls it.
 */

import { isObject } from '../primitives/is-object.ts'
import type { Endpoint, FeatureSpec, ProofCheck } from './feature-spec.ts'
import { fits } from './proof.ts'

/** A check in the form of a request for a reality check. */
export interface SpecCheck {
  method: string
  path: string
  expected_status: number[]
  expected_body_contains: string[]
  expected_json?: { path: string; equals: unknown }[]
  body?: unknown
}

export interface SpecCriteria {
  spec: string
  checks: SpecCheck[]
}

export function checksOf(spec: FeatureSpec): SpecCriteria {
  const proofs = spec.proof.flatMap(({ check }) => (check === null ? [] : [check]))
  // A success of a proof shows the endpoint too; a second POST of the same body may be a conflict.
  const unproved = spec.endpoints.filter(
    ({ method, path }) =>
      !path.includes('{') && !proofs.some((one) => one.method === method && one.status < 400 && fits(path, one.path)),
  )
  return { spec: spec.source, checks: [...unproved.flatMap(ofEndpoint), ...proofs.map(ofProof)] }
}

/** Only the names of the fields: their values, such as ids and times, are examples. */
function ofEndpoint({ method, path, status, request, responses }: Endpoint): SpecCheck[] {
  if (status.length === 0 || method === 'OPTIONS') return []
  const [example] = responses
  const names = method !== 'HEAD' && isObject(example) ? Object.keys(example) : []
  return [
    {
      method,
      path,
      expected_status: [...status],
      expected_body_contains: names.map((name) => JSON.stringify(name)),
      ...(request === undefined ? {} : { body: request }),
    },
  ]
}

function ofProof({ method, path, body, status, contains, fields }: ProofCheck): SpecCheck {
  return {
    method,
    path,
    expected_status: [status],
    expected_body_contains: [...contains],
    ...(fields.length === 0
      ? {}
      : { expected_json: fields.map(({ name, equals }) => ({ path: `$[${JSON.stringify(name)}]`, equals })) }),
    ...(body === undefined ? {} : { body }),
  }
}
