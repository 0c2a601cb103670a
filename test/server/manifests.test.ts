/** The manifest of a resolver that is used from its directory is read at every use (R49). */
import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Api, openApi } from './api.ts'

const says = (word: string) =>
  plainResolver(`me.finish({ status: 'completed', output: '${word}' })`, { name: 'speaker' }).dir

let api: Api
let dir: string
beforeAll(async () => {
  api = await openApi([{ name: 'speaker', dir: says('first') }])
  dir = join(api.home, 'sources', 'speaker')
  cpSync(join(says('second'), 'program.mjs'), join(dir, 'second.mjs'))
})
afterAll(async () => await api.close())

const write = (manifest: string) => writeFileSync(join(dir, 'manifest.json'), manifest)
const manifest = (more: object = {}) =>
  JSON.stringify({
    name: 'speaker',
    version: '1.0.0',
    description: 'Speaks',
    command: ['node', 'program.mjs'],
    ...more,
  })

async function outputOf(): Promise<string> {
  const id = await api.create('speaker')
  return (await api.until(id, 'completed')).output ?? ''
}

// verifies: R49
test('a changed manifest is in effect at the next use, in the same server', async () => {
  write(manifest())
  expect(await outputOf()).toBe('first')
  write(manifest({ command: ['node', 'second.mjs'], version: '2.0.0' }))
  expect(await outputOf()).toBe('second')
  expect((await api.call('GET', '/api/resolvers/speaker')).json.version).toBe('2.0.0')
})

// verifies: R49
test.each([
  ['no JSON', '{', 'manifest_invalid'],
  ['malformed', manifest({ command: 'node program.mjs' }), 'manifest_invalid'],
  ['under another name', manifest({ name: 'other' }), 'manifest_invalid'],
  ['missing', null, 'source_missing'],
])('a manifest that is %s refuses every use with its error; nothing of an earlier day runs', async (_, text, code) => {
  write(manifest())
  expect(await outputOf()).toBe('first')
  if (text === null) rmSync(join(dir, 'manifest.json'))
  else write(text)
  const before = (await api.call('GET', '/api/instances')).json.length
  for (const [method, path, body] of [
    ['POST', '/api/instances', { resolver: 'speaker', input: {} }],
    ['GET', '/api/resolvers/speaker/schema', undefined],
    ['POST', '/api/resolvers/speaker/check', { input: {} }],
    ['GET', '/api/resolvers/speaker', undefined],
  ] as const) {
    const answer = await api.call(method, path, { body })
    expect([path, answer.status, answer.json.code]).toEqual([path, code === 'source_missing' ? 404 : 422, code])
    expect(answer.text).not.toContain(api.home)
  }
  expect((await api.call('GET', '/api/instances')).json).toHaveLength(before)
  // The catalog still lists it: it is registered.
  expect((await api.call('GET', '/api/resolvers')).json.map(({ name }: { name: string }) => name)).toContain('speaker')
})
