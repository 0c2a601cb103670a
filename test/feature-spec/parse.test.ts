/** What a feature spec is parsed to, and how hostile texts are. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checksOf } from '../../src/core/feature-spec/checks-of.ts'
import { EXAMPLE_FEATURE_SPEC as EXAMPLE } from '../../src/core/feature-spec/example.ts'
import { parseFeatureSpec } from '../../src/core/feature-spec/parse-feature-spec.ts'
import { FEATURE_SPEC_MAX_BYTES, FEATURE_SPEC_MAX_FAULTS } from '../../src/core/limits.ts'

// verifies: S-SPEC-01
test('the six sections as data, with their lines', () => {
  const { spec } = parseFeatureSpec(EXAMPLE)
  expect(spec).toMatchObject({
    title: 'Notes',
    intent: { line: 3, text: 'Add notes with a text to the existing API.' },
    endpoints: [
      { line: 8, title: 'Create a note', method: 'POST', path: '/notes', status: [201], request: { text: 'Buy milk' } },
      { line: 21, title: 'List the notes', method: 'GET', path: '/notes', status: [200], request: undefined },
      { line: 29, title: 'Delete a note', method: 'DELETE', path: '/notes/{id}', status: [204], responses: [] },
    ],
    errors: [{ status: 400 }, { status: 400 }, { status: 404, trigger: 'an id that does not exist' }],
  })
  expect(spec?.validation.length).toBe(2)
  expect(spec?.integration.length).toBe(2)
  expect(spec?.proof.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /notes',
    'GET /notes',
    'POST /notes',
    'DELETE /notes/{id}',
    'DELETE /notes/999999',
  ])
})

test('the intent may have a heading, sections may have numbers, lines may end with CR LF', () => {
  const other = EXAMPLE.replace('Add notes', '## 1. Feature intent\n\nAdd notes').replace('## Proof', '## 6. PROOF:')
  expect(parseFeatureSpec(`\uFEFF${other.replaceAll('\n', '\r\n')}`).faults).toEqual([])
})

test('an endpoint in one line, and one whose answer is told in a sentence', () => {
  const text = `# Readiness

Add GET /api/health/ready to the API.

## Endpoints

### GET /api/health/ready

Returns 200 with {"ready": true} when initialized.

## Validation Rules
- None

## Error Cases
- 503 with \`{"ready": false}\` during startup

## Integration Requirements
- Register the route beside GET /api/health

## Proof
- \`GET /api/health/ready\` returns 200 with \`{"ready": true}\`
`
  const { spec, faults } = parseFeatureSpec(text)
  expect(faults).toEqual([])
  expect(spec?.endpoints[0]).toMatchObject({ status: [200], responses: [{ ready: true }] })
  expect(spec && checksOf(spec)).toEqual({
    spec: text,
    checks: [
      {
        method: 'GET',
        path: '/api/health/ready',
        expected_status: [200],
        expected_body_contains: [],
        expected_json: [{ path: '$["ready"]', equals: true }],
      },
    ],
  })
})

test('checks follow from what can be requested as it stands; an open parameter gives none', () => {
  const { spec } = parseFeatureSpec(EXAMPLE)
  const checks = spec === null ? [] : checksOf(spec).checks
  expect(checks).toEqual([
    {
      method: 'POST',
      path: '/notes',
      expected_status: [201],
      expected_body_contains: ['id', 'text', 'created_at'],
      expected_json: undefined,
      body: { text: 'Buy milk' },
    },
    { method: 'GET', path: '/notes', expected_status: [200], expected_body_contains: ['notes'] },
    { method: 'POST', path: '/notes', expected_status: [400], expected_body_contains: [], body: { text: '' } },
    { method: 'DELETE', path: '/notes/999999', expected_status: [404], expected_body_contains: [] },
  ])
})

test('an endpoint without a proof of its success is checked by its example: the names of its fields, not their values', () => {
  const text = EXAMPLE.replace(
    '- `POST /notes` with `{"text": "Buy milk"}` returns 201 with `id`, `text` and `created_at`\n',
    '',
  )
  const { spec, faults } = parseFeatureSpec(text)
  expect(faults).toEqual([])
  expect(spec && checksOf(spec).checks[0]).toEqual({
    method: 'POST',
    path: '/notes',
    expected_status: [201],
    expected_body_contains: ['"id"', '"text"', '"created_at"'],
    body: { text: 'Buy milk' },
  })
})

test('faults are in the order of their lines, and their number is bounded', () => {
  const { faults } = parseFeatureSpec(EXAMPLE.replace('## Proof', `${'## Other\n'.repeat(1_000)}## Proof`))
  expect(faults.length).toBe(FEATURE_SPEC_MAX_FAULTS)
  expect(faults.map(({ line }) => line)).toEqual(faults.map(({ line }) => line).toSorted((one, other) => one - other))
})

test('no text makes the parser throw', () => {
  const piece = fc.oneof(
    fc.constantFrom(...EXAMPLE.split('\n').map((line) => `${line}\n`)),
    fc.constantFrom('```\n', '`', '# ', '## ', '- ', '{"a":', '[', 'GET /', '2xx ', '404 ', '{', '}', '"', '\t'),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 80 }), (pieces) => {
      const { spec, faults } = parseFeatureSpec(pieces.join(''))
      expect(spec === null).toBe(faults.length > 0)
      if (spec !== null) checksOf(spec)
    }),
    { numRuns: 300 },
  )
})

const PIECES = [
  'a',
  ' ',
  '`',
  '``',
  '- ',
  '# ',
  '`{',
  '{"',
  '[',
  '. ',
  '.',
  '/',
  'GET /',
  '400 ',
  '"',
  '*',
  '\n',
  '- `\n',
  '```\n',
  '## Proof\n',
]

test.each(PIECES)('a text of 256 KiB of %j is checked within a second', (piece) => {
  for (const before of [
    '',
    '- ',
    `${EXAMPLE}- \`GET /`,
    EXAMPLE.slice(0, EXAMPLE.indexOf('**Request')),
    EXAMPLE.slice(0, 20),
  ]) {
    const text = `${before}${piece.repeat(FEATURE_SPEC_MAX_BYTES)}`.slice(0, FEATURE_SPEC_MAX_BYTES)
    const began = performance.now()
    parseFeatureSpec(text)
    expect(performance.now() - began).toBeLessThan(1_000)
  }
})
