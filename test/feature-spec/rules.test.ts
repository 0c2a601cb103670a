/** The rules of a feature spec: each is broken by a small change of the example, and no other rule is. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { EXAMPLE_FEATURE_SPEC as EXAMPLE } from '../../src/core/feature-spec/example.ts'
import { parseFeatureSpec } from '../../src/core/feature-spec/parse-feature-spec.ts'
import { RULES, type Rule } from '../../src/core/feature-spec/rules.ts'
import { FEATURE_SPEC_MAX_BYTES, FEATURE_SPEC_MAX_LINES } from '../../src/core/limits.ts'

const page = readFileSync(new URL('../../docs/feature-spec.md', import.meta.url), 'utf8')
const rulesOf = (text: string) => [...new Set(parseFeatureSpec(text).faults.map(({ rule }) => rule))]
const lineOf = (text: string, part: string) => text.slice(0, text.indexOf(part)).split('\n').length

/** A change of the example: the text to replace, its replacement, and a part of the line at which the fault is told. */
type Change = [from: string, to: string, at: string]
const POST_BODY = '```json\n{ "text": "Buy milk" }\n```'
const TEXT_RULE = '- `text` MUST have 1 to 500 characters after trimming'

const CHANGES: [Rule, ...Change][] = [
  ['not_text', 'Add notes', 'Add\u0007notes', 'notes with'],
  ['block_open', '- `DELETE /notes/999999` returns 404\n', '- `DELETE /notes/999999` returns 404\n~~~\n', '~~~'],
  ['placeholder', TEXT_RULE, '- `text` MUST have 1 to 500 characters (TBD)', 'TBD'],
  ['section_missing', '## Integration Requirements', '### Integration', '## Proof'],
  ['section_twice', '## Proof', '## Proof\n- `GET /notes` returns 200\n## Proof', '## Proof\n- `POST'],
  ['section_unknown', '## Proof', '## Background\n\nText.\n\n## Proof', '## Background'],
  ['text_outside', 'Add notes', 'Some text.\n\n## Feature Intent\nAdd notes', 'Some text'],
  ['intent_sentence', 'existing API.', 'existing API. Users want it.', 'Add notes'],
  ['intent_verb', 'Add notes', 'This adds notes', 'This adds'],
  ['intent_long', 'existing API', `existing API ${'with it '.repeat(40)}`, 'Add notes'],
  ['intent_scope', 'existing API', 'existing API and also a search', 'Add notes'],
  ['intent_vague', 'existing API', 'existing API in a robust way', 'Add notes'],
  ['endpoint_line_missing', '### Delete a note\n', '### Update a note\n\n### Delete a note\n', '### Update'],
  ['endpoint_method', '`POST /notes`\n', '`post /notes`\n', 'post /notes'],
  ['endpoint_path', '`DELETE /notes/{id}`\n', '`DELETE /notes/{id}?force=1`\n', '?force'],
  ['endpoint_parameter', '`DELETE /notes/{id}`\n', '`DELETE /notes/:id`\n', '/:id'],
  ['request_missing', `**Request body:**\n${POST_BODY}\n`, '', '`POST /notes`'],
  ['request_unused', '`GET /notes`\n', `\`GET /notes\`\n\n**Request body:**\n${POST_BODY}\n`, '`GET /notes`'],
  ['status_missing', '(204 No Content)', '', '`DELETE /notes/{id}`'],
  ['status_inexact', '(200 OK)', '(2xx)', '2xx'],
  ['status_failure', '(200 OK)', '(200 OK, or 404)', 'or 404'],
  [
    'response_missing',
    '\n```json\n{ "id": 1, "text": "Buy milk", "created_at": "2026-01-15T10:30:00Z" }\n```',
    '',
    '`POST /notes`',
  ],
  ['response_unused', ' no body\n', '\n```json\n{}\n```\n', '`DELETE /notes/{id}`'],
  ['body_not_json', '{ "text": "Buy milk" }', '{ text: "Buy milk" }', '```json\n{ text'],
  ['validation_vague', TEXT_RULE, '- The text must be reasonable', 'reasonable'],
  ['validation_exact', TEXT_RULE, '- Check the text', 'Check the text'],
  ['error_status', '- 404 for an', '- An', '- An `id`'],
  ['error_trigger', '- 404 for an `id` that does not exist', '- 404', '- 404\n'],
  ['error_vague', '- 400 for a `text` of more than 500 characters', '- 400 for a text that is too long', 'too long'],
  [
    'error_twice',
    '- 404 for',
    '- 400 for a missing or empty `text`\n- 404 for',
    '- 400 for a missing or empty `text`\n- 404',
  ],
  [
    'integration_vague',
    '- Follow the router and the error format of the existing endpoints',
    '- Follow existing patterns',
    'existing patterns',
  ],
  [
    'proof_vague',
    '- `GET /notes` returns 200 with `notes`',
    '- `GET /notes` returns 200 with proper `notes`',
    'proper',
  ],
  ['proof_not_observable', '- `DELETE /notes/999999` returns 404', '- Run the tests', '- Run'],
  ['proof_outcome', '- `DELETE /notes/999999` returns 404', '- The list has the note', '- The list'],
  ['proof_status', '`DELETE /notes/999999` returns 404', '`DELETE /notes/999999` returns 410', '410'],
  [
    'proof_uncovered',
    '### Delete a note',
    '### Delete all\n`DELETE /notes`\n\n**Success response (204):** no body\n\n### Delete a note',
    '`DELETE /notes`',
  ],
  [
    'endpoint_twice',
    '### Delete a note',
    '### Once more\n`GET /notes`\n\nReturns 200 with `{"notes": []}`\n\n### Delete a note',
    '`GET /notes`\n\nReturns',
  ],
  ['implementation', TEXT_RULE, `${TEXT_RULE}\n- \`id\` MUST be found in a hash map`, 'hash map'],
  ['future', TEXT_RULE, `${TEXT_RULE}\n- \`tags\` MUST be 1 to 5, in a future release`, 'future'],
]

const without = (name: string) => (text: string) => {
  const from = text.indexOf(`## ${name}\n`)
  const next = text.indexOf('\n## ', from + 1)
  return `${text.slice(0, from)}## ${name}\n${next === -1 ? '' : text.slice(next)}`
}
const instead = (name: string, content: string) => (text: string) =>
  without(name)(text).replace(`## ${name}\n`, `## ${name}\n${content}\n`)

const WHOLE: [Rule, string][] = [
  ['too_large', `${EXAMPLE}${'x'.repeat(FEATURE_SPEC_MAX_BYTES)}`],
  ['too_large', `${EXAMPLE}${'\n'.repeat(FEATURE_SPEC_MAX_LINES)}`],
  [
    'section_order',
    EXAMPLE.replace('## Validation Rules', '## V')
      .replace('## Error Cases', '## Validation Rules')
      .replace('## V\n', '## Error Cases\n'),
  ],
  ['section_empty', without('Integration Requirements')(EXAMPLE)],
  ['endpoint_none', instead('Endpoints', 'It creates notes.')(EXAMPLE)],
  ['endpoint_count', EXAMPLE.replace('### Delete a note', `${manyEndpoints()}### Delete a note`)],
  ['validation_item', instead('Validation Rules', 'A text has 500 characters.')(EXAMPLE)],
  ['error_item', instead('Error Cases', '404 for an unknown id.')(EXAMPLE)],
  ['integration_item', instead('Integration Requirements', 'Follow the router.')(EXAMPLE)],
  ['proof_item', instead('Proof', '`GET /notes` returns 200.')(EXAMPLE)],
]

function manyEndpoints(): string {
  return Array.from(
    { length: 12 },
    (_, at) => `### List ${at}\n\`GET /list${at}\`\n\nReturns 200 with \`{"a": 1}\`\n\n`,
  ).join('')
}

// verifies: S-SPEC-01 S-SPEC-02
describe('a change of the example breaks a rule', () => {
  test.each(CHANGES)('%s', (rule, from, to, at) => {
    expect(EXAMPLE).toContain(from)
    const text = EXAMPLE.replace(from, () => to)
    const fault = parseFeatureSpec(text).faults.find((one) => one.rule === rule)
    expect(rulesOf(text)).toContain(rule)
    expect(fault?.line).toBe(lineOf(text, at))
    expect(fault?.better).not.toBe('')
  })

  test.each(WHOLE)('%s', (rule, text) => {
    expect(rulesOf(text)).toContain(rule)
  })

  test('every rule is broken by one of these changes', () => {
    const broken = [...CHANGES.map(([rule]) => rule), ...WHOLE.map(([rule]) => rule)]
    expect([...new Set(broken)].toSorted()).toEqual(Object.keys(RULES).toSorted())
  })
})

test('most of these changes break one rule alone', () => {
  const alone = CHANGES.filter(([, from, to]) => rulesOf(EXAMPLE.replace(from, () => to)).length === 1)
  expect(alone.length).toBeGreaterThanOrEqual(CHANGES.length - 8)
})

// verifies: S-SPEC-01
test('the example of docs/feature-spec.md is the one that the program offers, and has no fault', () => {
  const [, shown = ''] = /^````markdown\n([\s\S]*?)^````$/m.exec(page) ?? []
  expect(shown).toBe(EXAMPLE)
  expect(parseFeatureSpec(EXAMPLE).faults).toEqual([])
})

test('docs/feature-spec.md lists every rule with what it demands and its example, and no other', () => {
  const rows = [...page.matchAll(/^\| `([a-z_]+)` \| (.*) \| (.*) \|$/gm)].map(([, ...cells]) => cells)
  const known = Object.entries(RULES).map(([id, { demands, better }]) => [id, demands, better])
  expect(rows).toEqual(known.map((cells) => cells.map((cell) => cell?.replaceAll('|', '\\|'))))
})

test('a better example follows from the text where that is possible', () => {
  const better = (from: string, to: string) => parseFeatureSpec(EXAMPLE.replace(from, to)).faults[0]?.better
  expect(better('Add notes', 'Adds notes')).toBe('Add notes with a text to the existing API.')
  expect(better('`DELETE /notes/{id}`\n', '`DELETE /notes/:id`\n')).toBe('`DELETE /notes/{id}`')
  expect(better('`GET /notes`\n', '`GET https://api.example.org/notes`\n')).toBe('`GET /notes`')
})

test('an unusual verb is accepted, other beginnings are not', () => {
  const rules = (first: string) => rulesOf(EXAMPLE.replace('Add notes', `${first} notes`))
  for (const verb of ['Pin', 'Snooze', 'Bulk-delete', 'List', 'Process', 'Embed'])
    expect([verb, rules(verb)]).toEqual([verb, []])
  for (const word of ['The', 'Adding', 'Implementation of', 'Users want', '42'])
    expect([word, rules(word)]).toEqual([word, ['intent_verb']])
})
