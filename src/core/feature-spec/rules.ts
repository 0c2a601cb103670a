/**
 * The rules of a feature spec, each with what it demands and an example that keeps it (docs/feature-spec.md has the same table). The files of the
 * sections report by these ids.
 */

export const RULES = {
  too_large: {
    demands: 'The text has at most 256 KiB and 5,000 lines',
    better: 'Describe one feature; move long samples out of the spec.',
  },
  not_text: { demands: 'The text has no control characters', better: 'Save the file as UTF-8 text.' },
  block_open: { demands: 'Every code block is closed', better: 'End the block with a line ``` of its own.' },
  placeholder: {
    demands: 'Every placeholder is replaced',
    better: 'POST /notes instead of [METHOD] [/path], a real limit instead of TBD',
  },
  section_missing: { demands: 'All six sections are there', better: '## Proof' },
  section_order: {
    demands: 'The sections are in their order',
    better: 'Feature Intent, Endpoints, Validation Rules, Error Cases, Integration Requirements, Proof',
  },
  section_twice: { demands: 'Each section is there once', better: 'Put the text of both into one section.' },
  section_unknown: {
    demands: 'There is no other section',
    better: 'Use ### for a heading inside a section.',
  },
  section_empty: { demands: 'Each section has content', better: '- `text` MUST have 1 to 500 characters' },
  text_outside: {
    demands: 'All text is in a section',
    better: 'Put it below ## Feature Intent, or leave it out.',
  },
  intent_sentence: { demands: 'The intent is one sentence', better: 'Add comments to the existing issues API.' },
  intent_verb: { demands: 'The intent starts with a verb', better: 'Add comments to the existing issues API.' },
  intent_long: { demands: 'The intent has at most 300 characters', better: 'Add comments to the existing issues API.' },
  intent_scope: {
    demands: 'The intent names one feature',
    better: 'Add comments to the existing issues API. (Write another spec for the other feature.)',
  },
  intent_vague: {
    demands: 'The intent has no words that cannot be checked',
    better: 'Answer GET /health within 200 ms. (instead of: Make the API fast.)',
  },
  endpoint_none: { demands: 'There is at least one endpoint', better: '`POST /notes`' },
  endpoint_line_missing: {
    demands: 'Each heading below Endpoints has a method and a path',
    better: '### Create a note, then on a line of its own `POST /notes`',
  },
  endpoint_method: { demands: 'The method is one of HTTP, in capitals', better: '`POST /notes`' },
  endpoint_path: { demands: 'The path is exact and begins with /', better: '`GET /notes/{id}`' },
  endpoint_parameter: { demands: 'A parameter of a path is written {name}', better: '`GET /notes/{id}`' },
  endpoint_twice: { demands: 'Each method and path is there once', better: 'Describe both answers at one endpoint.' },
  endpoint_count: {
    demands: 'There are at most 12 endpoints',
    better: 'Write a spec for each resource.',
  },
  request_missing: {
    demands: 'POST, PUT and PATCH have a request body as JSON',
    better: '**Request body:** and a block {"text": "Buy milk"}, or **Request body:** none',
  },
  request_unused: {
    demands: 'GET and HEAD have no request body',
    better: '`GET /notes?tag=home` without a request body',
  },
  status_missing: { demands: 'Each endpoint has its success status', better: '**Success response (201 Created):**' },
  status_inexact: { demands: 'A status is an exact number', better: '201 instead of 2xx' },
  status_failure: {
    demands: 'The status of a success is from 200 to 399',
    better: '**Success response (201 Created):** (put 4xx and 5xx under Error Cases)',
  },
  response_missing: {
    demands: 'Each endpoint has its response body as JSON',
    better: '**Success response (200 OK):** and a block {"id": 1, "text": "Buy milk"}, or "no body"',
  },
  response_unused: { demands: 'A 204, 205 or 304 has no response body', better: '**Success response (200 OK):**' },
  body_not_json: { demands: 'A block of JSON is JSON', better: '{"text": "Buy milk"}' },
  validation_item: { demands: 'Validation Rules is a list', better: '- `text` MUST have 1 to 500 characters' },
  validation_vague: {
    demands: 'A validation rule has no words that cannot be checked',
    better: '- `text` MUST have 1 to 500 characters',
  },
  validation_exact: {
    demands: 'A validation rule states an exact constraint',
    better: '- `text` MUST have 1 to 500 characters',
  },
  error_item: { demands: 'Error Cases is a list', better: '- 404 for an `id` that does not exist' },
  error_status: {
    demands: 'An error case has one exact status from 400 to 599',
    better: '- 404 for an `id` that does not exist',
  },
  error_trigger: {
    demands: 'An error case says what triggers it',
    better: '- 400 for a `text` of more than 500 characters',
  },
  error_vague: {
    demands: 'An error case has no words that cannot be checked',
    better: '- 400 for a `text` of more than 500 characters',
  },
  error_twice: { demands: 'Each error case is there once', better: '- 404 for an `id` that does not exist' },
  integration_item: {
    demands: 'Integration Requirements is a list',
    better: '- Follow the bearer token middleware of the issues endpoints',
  },
  integration_vague: {
    demands: 'An integration requirement names the pattern',
    better: '- Follow the bearer token middleware of the issues endpoints',
  },
  proof_item: { demands: 'Proof is a list', better: '- `GET /notes/999999` returns 404' },
  proof_vague: {
    demands: 'A proof has no words that cannot be checked',
    better: '- `GET /notes` returns 200 within 200 ms',
  },
  proof_not_observable: {
    demands: 'A proof is observed over HTTP, not in the code or its tests',
    better: '- `GET /notes/999999` returns 404',
  },
  proof_outcome: {
    demands: 'A proof states its outcome: a status, a field or a number',
    better: '- `POST /notes` returns 201 with `id` and `text`',
  },
  proof_status: {
    demands: 'The status of a proof is one that its endpoint or an error case has',
    better: 'the same status in Endpoints, Error Cases and Proof',
  },
  proof_uncovered: {
    demands: 'Each endpoint has a proof',
    better: '- `GET /notes` returns 200 with `notes`',
  },
  implementation: {
    demands: 'The spec describes behaviour, not the implementation',
    better: '`GET /notes/{id}` answers within 50 ms (instead of: use a hash map)',
  },
  future: { demands: 'The spec has nothing for later', better: 'Leave it out, or write another spec for it.' },
} as const satisfies Record<string, { demands: string; better: string }>

export type Rule = keyof typeof RULES

export interface SpecFault {
  line: number
  column?: number
  rule: Rule
  message: string
  better: string
}

/** Receives the faults of a spec; `better` replaces the example of the rule where one follows from the text itself. */
export type Report = (rule: Rule, line: number, message: string, better?: string) => void

const QUOTED_MAX_CHARS = 60

/** A text of the spec, shortened, for a message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > QUOTED_MAX_CHARS ? `${text.slice(0, QUOTED_MAX_CHARS)}…` : text)
}
