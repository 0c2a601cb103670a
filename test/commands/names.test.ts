/** Which names instances and schedules can have: one rule at every door, and homes of an older version with other names. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { InstanceRecord } from '../../src/core/protocol/instance.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'
import { type Home, newHome } from './cli.ts'
import { client, type ServeProcess, startServe } from './serving.ts'

const RULE = 'a name has 1 to 200 visible characters on one line'

const REFUSED: Record<string, string> = {
  'the word for the newest': '@last',
  'an at sign in front': '@ops',
  'an id': '0123456789ab',
  'an id in upper case': '0123456789AB',
  nothing: '',
  'only blanks': ' \u00a0\u3000',
  'a space in front': ' nightly',
  'a space behind': 'nightly ',
  'only characters that are not seen': '\u200d\u2800\u3164',
  'only a variation selector': '\ufe0f',
  'only a grapheme joiner': '\u034f',
  'only a vowel that is not shown': '\u17b4',
  'only a selector of Mongolian': '\u180b',
  'only a selector of a later plane': '\u{e0100}',
  'only a mark': '\u0301',
  'an id behind a selector': 'abcdef012345\ufe0f',
  'an id behind a joiner': 'abcdef012345\u200d',
  'an id around a joiner': 'abcdef\u200d012345',
  'a line break': 'one\ntwo',
  'an escape sequence': '\u001b[31mred',
  'a C1 control character': 'a\u0085b',
  'a direction override': 'safe\u202egpj.exe',
  'a direction mark': 'a\u200fb',
  'a zero-width space': 'ni\u200bghtly',
  'a byte order mark': '\ufeffnightly',
  'a tag character': 'a\u{e0041}',
  'a line separator': 'a\u2028b',
  'too many characters': 'x'.repeat(201),
  'a lone surrogate': 'a\ud800b',
}

const TAKEN = [
  'nightly',
  'Ebb und Fluß',
  'گزارش\u200cها',
  '👩\u200d💻 fixes',
  '2026',
  'cafe',
  'x'.repeat(200),
  'a@last',
  '🦊'.repeat(200),
]

let place: Home
let served: ServeProcess
let call: ReturnType<typeof client>
let id: string

beforeAll(async () => {
  place = newHome()
  const { dir } = plainResolver(`me.finish({ status: 'completed', output: 'done' })`)
  expect((await place.run('resolver', 'add', dir)).code).toBe(0)
  served = await startServe(place.home, ['--no-ui'])
  call = client(served.url, (await place.run('token', 'create', '--scope', 'admin')).stdout.trim())
  const { stdout } = await place.run('run', 'plain', '--name', 'first', '--json')
  id = (JSON.parse(stdout) as InstanceRecord).instance_id
})

afterAll(async () => {
  served.kill('SIGTERM')
  await served.ended
  await place.end()
})

const nameOf = async () => ((await call('GET', `/instances/${id}`)).body as InstanceRecord).name

test.each(Object.entries(REFUSED))('%s is no name, over HTTP and for a local consumer (S-FIND-05)', async (_, name) => {
  const refusal = { status: 422, body: { code: 'request_invalid' } }
  expect(await call('POST', '/instances', { resolver: 'plain', input: {}, name })).toMatchObject(refusal)
  expect(await call('PATCH', `/instances/${id}`, { name })).toMatchObject(refusal)
  expect(await call('POST', `/instances/${id}/retry`, { name })).toMatchObject(refusal)
  expect(await nameOf()).toBe('first')
  const platform = await platformOn(place.home)
  await expect(platform.create({ resolver: 'plain', input: {}, name })).rejects.toThrow(RULE)
  await expect(platform.rename(id, name)).rejects.toThrow(RULE)
  await expect(platform.retry(id, { name })).rejects.toThrow(RULE)
  await platform.close()
  expect((await call('GET', '/instances')).body).toHaveLength(1)
})

test('the refusal says the rule in words (S-FIND-05)', async () => {
  const { body } = await call('PATCH', `/instances/${id}`, { name: '@last' })
  expect((body as { detail: string }).detail).toContain(RULE)
})

test.each(TAKEN)('%s is a name (S-FIND-05)', async (name) => {
  expect(await call('PATCH', `/instances/${id}`, { name })).toMatchObject({ status: 200, body: { name } })
  expect((await place.run('instance', 'show', name)).stdout).toContain(id)
  expect(await call('PATCH', `/instances/${id}`, { name: 'first' })).toMatchObject({ status: 200 })
})

test('the command line refuses it before it asks or creates anything (S-FIND-05)', { timeout: 30_000 }, async () => {
  const RENAMES = ['@last', '0123456789ab', '', '  ', 'a\u001b[31m', 'x'.repeat(201)]
  const commands = RENAMES.map((name) => ['instance', 'rename', id, name])
  commands.push(['run', 'plain', '--name', '@last'], ['instance', 'retry', id, '--name', '0123456789ab'])
  for (const words of commands) {
    const ended = await place.run(...words)
    expect(ended.code, words.join(' ')).toBe(2)
    expect(ended.stderr).toContain("can't name an instance: a name has 1 to 200 visible characters")
    expect(ended.stderr).not.toContain('\u001b[31m')
  }
  expect((await call('GET', '/instances')).body).toHaveLength(1)
})

test('a schedule has no name that looks like an id, at either door, and a wrong one does not break the file (S-FIND-05)', {
  timeout: 30_000,
}, async () => {
  const schedule = { cron: '0 7 * * *', resolver: 'plain', input: {} }
  for (const name of ['0123456789ab', '@last', '', ' ', '../x', 'x'.repeat(65)]) {
    expect(await call('POST', '/schedules', { ...schedule, name })).toMatchObject({ status: 422 })
    const ended = await place.run('schedule', 'add', '0 7 * * *', 'plain', `--name=${name}`)
    expect(ended.code, name).toBe(2)
    expect(ended.stderr).toContain("can't name a schedule: a name has 1 to 64 letters")
  }
  const long = `${'a'.repeat(63)}b`
  const hex = 'abcdefabcdef'
  for (const name of [long, hex]) {
    const { dir } = plainResolver(`me.finish({ status: 'completed' })`, { name })
    expect((await place.run('resolver', 'add', dir)).code).toBe(0)
    for (let n = 0; n < 2; n += 1) expect((await place.run('schedule', 'add', '0 7 * * *', name)).code).toBe(0)
  }
  const { body } = await call('GET', '/schedules')
  expect((body as { name: string }[]).map(({ name }) => name)).toEqual([
    ...[long, `${'a'.repeat(62)}-2`, `${hex}-2`, `${hex}-3`],
  ])
  for (const { name } of body as { name: string }[]) expect((await place.run('schedule', 'remove', name)).code).toBe(0)
})

/** The home as an older version wrote it: a name that is refused now, in the creation record. */
function withOldName(home: string, instance: string, name: string): void {
  const path = join(home, 'instances', instance, 'journal')
  const text = readFileSync(path, 'utf8')
  const changed = text.replace(
    `"name":"${'o'.repeat(JSON.stringify(name).length - 2)}"`,
    `"name":${JSON.stringify(name)}`,
  )
  expect(changed).not.toBe(text)
  writeFileSync(path, changed)
}

test('an older home with such names opens, lists them without what a terminal interprets, and goes on (S-FIND-05)', {
  timeout: 60_000,
}, async () => {
  const old = newHome()
  const { dir } = plainResolver(`me.finish({ status: 'completed', output: 'done' })`)
  expect((await old.run('resolver', 'add', dir)).code).toBe(0)
  const names = ['@last', '0123456789ab', '\u001b[2J\u202eevil\ud800', '   ']
  const made: string[] = []
  for (const name of names) {
    const placeholder = 'o'.repeat(JSON.stringify(name).length - 2)
    const { stdout } = await old.run('run', 'plain', '--name', placeholder, '--json')
    const { instance_id: one } = JSON.parse(stdout) as InstanceRecord
    withOldName(old.home, one, name)
    writeFileSync(join(old.home, 'instances', one, 'record.json'), '')
    made.push(one)
  }
  const listed = await old.run('instance', 'list')
  expect(listed.code, listed.stderr).toBe(0)
  for (const one of made) expect(listed.stdout).toContain(one)
  expect(listed.stdout).not.toMatch(/[\u001b\u202e]/)
  const { instances } = JSON.parse((await old.run('instance', 'list', '--json')).stdout) as {
    instances: InstanceRecord[]
  }
  expect(instances.map(({ name }) => name).sort()).toEqual([...names].sort())
  // @last stays the newest, and another run of it has no such name.
  const [first = ''] = made
  const again = JSON.parse((await old.run('instance', 'retry', first, '--json')).stdout) as InstanceRecord
  expect(again).toMatchObject({ name: null, parent_id: first, status: 'completed' })
  expect((await old.run('instance', 'rename', first, 'kept')).code).toBe(0)
  expect((await old.run('instance', 'show', 'kept')).stdout).toContain(first)
  await old.end()
})
