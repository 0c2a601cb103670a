/** Images of a prompt: sent in each protocol, kept once, the same after a resume, and refused before anything is paid. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PromptImage } from '../../src/sessions/contract/contract.ts'
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
const GIF = Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=', 'base64')
const count = (text: string, part: Buffer) => text.split(part.toString('base64')).length - 1

// verifies: R56-SEES
test.each(DIALECTS)('%s: images of a prompt arrive, as a path and as bytes', async (provider) => {
  const at = arena({ model: `${provider}/test`, base_url: llm.url })
  writeFileSync(join(at.workspace, 'a.png'), PNG)
  llm.script([{ text: 'Two points.' }, { text: 'As before.' }])
  const session = await at.create('work')
  const images = ['a.png', { data: GIF, mediaType: 'image/gif' }]
  expect(await session.run('Look.', { images })).toMatchObject({ output: 'Two points.' })
  await session.run('Again.')
  expect(llm.requests).toHaveLength(2)
  for (const request of llm.requests) {
    expect([count(request.text, PNG), count(request.text, GIF)]).toEqual([1, 1])
    expect(request.text).toContain('[a.png]')
    expect(problemIn(request)).toBe('')
  }
  expect(at.linesOf('work', 'prompt')[0]).toMatchObject({
    text: 'Look.',
    images: [
      { name: 'a.png', media_type: 'image/png', bytes: PNG.length },
      { media_type: 'image/gif', bytes: GIF.length },
    ],
  })
  expect(readFileSync(join(at.dir, 'sessions/work/transcript.jsonl'), 'utf8')).not.toContain(PNG.toString('base64'))
  expect(readdirSync(join(at.dir, 'sessions/work/outputs'))).toHaveLength(2)
})

test('a resumed turn has the image as it was, and is not paid again', async () => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  const path = join(at.workspace, 'a.png')
  writeFileSync(path, PNG)
  const images: PromptImage[] = ['a.png']
  llm.script([{ text: 'A point.' }, { text: 'As before.' }, { text: 'Another.' }])
  await (await at.create('work')).run('Look.', { images })
  rmSync(path)
  at.open()
  const resumed = await at.create('work')
  expect(await resumed.run('Look.', { images })).toMatchObject({ output: 'A point.' })
  expect(llm.requests).toHaveLength(1)
  await resumed.run('Again.')
  expect(count(llm.requests[1]?.text ?? '', PNG)).toBe(1)
  at.open()
  const other = await at.create('work')
  await other.run('Look.', { images: [{ data: GIF, mediaType: 'image/gif' }] })
  expect(llm.requests).toHaveLength(3)
  const text = llm.requests[2]?.text ?? ''
  expect([count(text, PNG), count(text, GIF)]).toEqual([0, 1])
})

test('what is no image in the workspace is refused before the model is asked, and the prompt is not counted', async () => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  const inside = (name: string) => join(at.workspace, name)
  const outside = join(at.config.project_path, 'secret.png')
  writeFileSync(outside, PNG)
  writeFileSync(join(at.dir, 'own.png'), PNG)
  mkdirSync(inside('folder.png'))
  symlinkSync(outside, inside('link.png'))
  symlinkSync('/dev/zero', inside('zero.png'))
  execFileSync('mkfifo', [inside('fifo.png')])
  writeFileSync(inside('vast.png'), PNG)
  truncateSync(inside('vast.png'), 3 * 1024 ** 3)
  writeFileSync(inside('text.png'), 'no image')
  writeFileSync(inside('a.png'), PNG)
  for (const name of ['b', 'c', 'd', 'e'])
    writeFileSync(inside(`${name}.png`), Buffer.concat([PNG, Buffer.alloc(4 * 1024 * 1024, name)]))
  llm.script([{ text: 'A point.' }])
  const session = await at.create('work')
  const refused: [unknown, string][] = [
    ...['link.png', '../secret.png', outside, '/dev/zero', 'zero.png', '../.resolve/own.png', 'a\0.png'].map(
      (path): [unknown, string] => [[path], 'outside of the workspace'],
    ),
    [['fifo.png'], 'not a regular file'],
    [['folder.png'], 'not a regular file'],
    [['vast.png'], 'at most 5242880 bytes'],
    [['text.png'], 'no png, jpeg, gif or webp'],
    [['none.png'], 'cannot be opened'],
    [[''], 'no path'],
    [['b.png', 'c.png', 'd.png', 'e.png'], 'at most 15728640 bytes'],
    [Array.from({ length: 11 }, () => 'a.png'), 'at most 10'],
    [[{ data: PNG, mediaType: 'image/jpeg' }], 'image/png'],
    [[{ data: Buffer.alloc(6 * 1024 * 1024), mediaType: 'image/png' }], 'at most 5242880 bytes'],
    [[{ data: 'text', mediaType: 'image/png' }], 'is a path, or has'],
    [[null], 'is a path, or has'],
    ['a.png', 'no list'],
  ]
  for (const [images, problem] of refused)
    await expect(session.run('Look.', { images: images as PromptImage[] })).rejects.toMatchObject({
      code: 'session_image_refused',
      message: expect.stringContaining(problem),
    })
  expect(llm.requests).toHaveLength(0)
  expect(at.linesOf('work', 'prompt')).toEqual([])
  expect(readdirSync(join(at.dir, 'sessions/work/outputs'))).toEqual([])
  expect(await session.run('Look.', { images: ['a.png'] })).toMatchObject({ output: 'A point.' })
})

test.each(DIALECTS)(
  '%s: a model without eyes ends the run with its code, and the session goes on',
  async (provider) => {
    const at = arena({ model: `${provider}/test`, base_url: llm.url })
    writeFileSync(join(at.workspace, 'a.png'), PNG)
    const blind = { status: 400, message: 'this model does not support image input' }
    llm.script([blind, blind, { text: 'Without it.' }])
    const session = await at.create('work')
    await expect(session.run('Look.', { images: ['a.png'] })).rejects.toMatchObject({
      code: 'session_images_unsupported',
      message: expect.stringContaining('does not support image input'),
    })
    expect(llm.requests).toHaveLength(1)
    expect(await session.run('Go on.')).toMatchObject({ output: 'Without it.' })
    expect(llm.requests.map(({ text }) => count(text, PNG))).toEqual([1, 1, 0])
    await expect(session.run('Look.', { images: ['a.png'] })).rejects.toMatchObject({ code: 'session_image_refused' })
    expect(llm.requests).toHaveLength(3)
  },
)
