/** Answers that must fit a JSON Schema: the real clients of four protocols against a scripted server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DIALECTS, type LlmServer as Llm, LlmServer } from '../support/llm-server.ts'
import { arena } from './arena.ts'

let llm: Llm

beforeAll(async () => {
  llm = await LlmServer.start()
})

afterAll(() => llm.close())

const SCHEMA = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: { risk: { enum: ['low', 'high'] }, files: { type: 'array', items: { type: 'string' } } },
  required: ['risk', 'files'],
  additionalProperties: false,
}
const GOOD = { risk: 'low', files: ['a.ts'] }

describe.each(DIALECTS)('%s', (provider) => {
  const place = () => arena({ model: `${provider}/test-1`, base_url: llm.url })

  // verifies: R56-SCHEMA
  test.each([
    ['alone', JSON.stringify(GOOD)],
    ['in a code block', `Here it is:\n\`\`\`json\n${JSON.stringify(GOOD)}\n\`\`\``],
    ['among words', `It is ${JSON.stringify(GOOD)}, I think.`],
  ])('an answer as JSON %s is read and checked', async (_, text) => {
    llm.script([{ text }])
    const { object, output, steps } = await (await place().create('plan')).run('Judge it.', { schema: SCHEMA })
    expect({ object, output, steps }).toEqual({ object: GOOD, output: text, steps: 1 })
    expect(llm.requests[0]?.text).toContain('fit this JSON Schema')
    expect(llm.requests[0]?.text).not.toContain('draft-07')
  })

  // verifies: R56-SCHEMA
  test('an answer that does not fit may be mended once', async () => {
    llm.script([{ text: '{"risk":"middling","files":[]}' }, { text: JSON.stringify(GOOD) }])
    const { object, steps } = await (await place().create('plan')).run('Judge it.', { schema: SCHEMA })
    expect({ object, steps }).toEqual({ object: GOOD, steps: 2 })
    expect(llm.requests[1]?.text).toContain(
      'Your answer does not fit: /risk must be equal to one of the allowed values',
    )
    llm.script([{ text: 'I would rather not.' }, { text: '{"risk":"low"}' }, { text: 'never asked for' }])
    const at = place()
    const run = (await at.create('plan')).run('Judge it.', { schema: SCHEMA })
    await expect(run).rejects.toMatchObject({ code: 'session_answer_invalid' })
    await expect(run).rejects.toThrow("must have required property 'files'")
    expect(llm.requests).toHaveLength(2)
    expect(at.completed).toMatchObject([{ success: false, error: { code: 'session_answer_invalid' } }])
  })
})

// verifies: R56-SCHEMA
test('after a restart the object comes from the transcript; another schema asks again', async () => {
  const at = arena({ model: 'anthropic/test-1', base_url: llm.url })
  llm.script([{ text: JSON.stringify(GOOD) }])
  await (await at.create('plan')).run('Judge it.', { schema: SCHEMA })
  at.open()
  const again = await (await at.create('plan')).run('Judge it.', { schema: SCHEMA })
  expect(again).toMatchObject({ object: GOOD })
  expect(llm.requests).toHaveLength(1)
  llm.script([{ text: '7' }])
  at.open()
  const other = await (await at.create('plan')).run('Judge it.', { schema: { type: 'integer' } })
  expect(other).toMatchObject({ object: 7, output: '7' })
  expect(llm.requests).toHaveLength(1)
})

test.each([
  ['no object', 'text', /no object/],
  ['no schema', { type: 'colour' }, /no JSON Schema/],
  ['too large', { description: 'x'.repeat(70_000) }, /more than/],
])('a schema that is %s is refused before the model is asked', async (_, schema, said) => {
  llm.script([{ text: '1' }])
  const session = await arena({ model: 'anthropic/test-1', base_url: llm.url }).create('plan')
  const run = session.run('Judge it.', { schema: schema as Record<string, unknown> })
  await expect(run).rejects.toMatchObject({ code: 'session_options_invalid', message: expect.stringMatching(said) })
  expect(llm.requests).toHaveLength(0)
})
