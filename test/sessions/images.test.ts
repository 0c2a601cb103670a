/** Images that tools give: to models that take them, kept beside the transcript. */
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { problemIn } from '../support/llm-requests.ts'
import { DIALECTS, LlmServer } from '../support/llm-server.ts'
import { arena } from './arena.ts'

let llm: LlmServer

beforeAll(async () => {
  llm = await LlmServer.start()
})

afterAll(() => llm.close())

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==',
  'base64',
)
const BASE64 = PNG.toString('base64')
const look = (path: string) => ({ tool: 'read', input: { path } })
/** Another image for each number: what follows the end of a PNG does not count. */
const image = (number: number) => Buffer.concat([PNG, Buffer.from(`${number}`.padStart(6, '0'))])
const count = (text: string, part: string) => text.split(part).length - 1

test.each(DIALECTS)('%s: an image that is read is shown where the protocol takes it (R56-IMAGES)', async (provider) => {
  const at = arena({ model: `${provider}/test`, base_url: llm.url })
  writeFileSync(join(at.workspace, 'a.png'), PNG)
  llm.script([{ calls: [look('a.png')] }, { text: 'A point.' }])
  expect(await (await at.create('work')).run('Look.')).toMatchObject({ output: 'A point.' })
  const request = llm.requests[1]
  const takes = provider !== 'openai-compatible'
  expect(count(request?.text ?? '', BASE64)).toBe(takes ? 1 : 0)
  expect(request?.text).toContain(`image/png, ${PNG.length} bytes`)
  if (!takes) expect(request?.text).toContain('this model is not shown images')
  expect(problemIn(request ?? { dialect: provider, body: {} })).toBe('')
  const transcript = readFileSync(join(at.dir, 'sessions/work/transcript.jsonl'), 'utf8')
  expect(transcript).not.toContain(BASE64.slice(0, 40))
  expect(at.linesOf('work', 'tool_result')).toMatchObject([{ image: { media_type: 'image/png', bytes: PNG.length } }])
})

test('a resumed session shows it again, and not what a command put in its place', async () => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  writeFileSync(join(at.workspace, 'a.png'), PNG)
  llm.script([{ calls: [look('a.png')] }, { text: 'A point.' }, { text: 'As before.' }, { text: 'Nothing.' }])
  await (await at.create('work')).run('Look.')
  at.open()
  const resumed = await at.create('work')
  await resumed.run('Look.')
  await resumed.run('Again.')
  expect(llm.requests).toHaveLength(3)
  expect(count(llm.requests[2]?.text ?? '', BASE64)).toBe(1)
  const outputs = join(at.dir, 'sessions/work/outputs')
  const [file = ''] = readdirSync(outputs)
  const secret = join(at.config.project_path, 'secret')
  writeFileSync(secret, Buffer.concat([PNG, Buffer.from('the secret')]))
  rmSync(join(outputs, file))
  symlinkSync(secret, join(outputs, file))
  await resumed.run('And now?')
  rmSync(join(outputs, file))
  writeFileSync(join(outputs, file), readFileSync(secret))
  await resumed.run('And then?')
  for (const { text } of llm.requests.slice(3)) {
    expect(count(text, BASE64.slice(0, 40))).toBe(0)
    expect(text).toContain('no longer shown')
  }
  expect(llm.requests).toHaveLength(5)
})

test.each(['anthropic', 'openai', 'google'])(
  '%s: a model without eyes gets the request without images',
  async (provider) => {
    const at = arena({ model: `${provider}/test`, base_url: llm.url })
    writeFileSync(join(at.workspace, 'a.png'), PNG)
    const blind = { status: 400, message: 'this model does not support image input' }
    llm.script([{ calls: [look('a.png')] }, blind, { calls: [look('a.png')] }, { text: 'I cannot see it.' }])
    expect(await (await at.create('work')).run('Look.')).toMatchObject({ output: 'I cannot see it.' })
    expect(llm.requests.map(({ text }) => count(text, BASE64))).toEqual([0, 1, 0, 0])
    expect(at.linesOf('work', 'retry')).toMatchObject([{ status: 400, wait_ms: 0 }])
  },
)

test('the latest ten are sent, and one that is too large is refused', async () => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  const names = Array.from({ length: 12 }, (_, number) => `${number}.png`)
  for (const [number, name] of names.entries()) writeFileSync(join(at.workspace, name), image(number))
  writeFileSync(join(at.workspace, 'large.png'), Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024)]))
  llm.script([{ calls: [...names, 'large.png'].map(look) }, { text: 'Many points.' }])
  await (await at.create('work')).run('Look.')
  const text = llm.requests[1]?.text ?? ''
  const shown = names.filter((_, number) => text.includes(image(number).toString('base64')))
  expect(shown).toEqual(names.slice(2))
  expect(count(text, 'no longer shown')).toBe(2)
  expect(at.linesOf('work', 'tool_result').filter((one) => one.is_error)).toMatchObject([
    { output: expect.stringContaining('at most 5242880 are shown') },
  ])
})

test('an image of an MCP server is shown as what its bytes are', async () => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  llm.script([{ calls: [{ tool: 'a__picture', input: {} }] }, { text: 'A point.' }])
  const mcp = { a: { command: process.execPath, args: [resolve('test/support/mcp-program.mjs')] } }
  await (await at.create('work', { mcp })).run('Look.')
  expect(llm.requests[1]?.text).toContain(`"media_type":"image/png","data":"${BASE64}"`)
})
