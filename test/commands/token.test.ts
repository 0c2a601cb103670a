/** resolve token create, list, revoke (R38), as built: what is printed once, what is kept, what is refused. */
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTokens } from '../../src/core/index.ts'
import { type Home, inTime, newHome } from './cli.ts'

const TOKEN = /^rslv_([0-9a-f]{8})_[A-Za-z0-9_-]{43}$/

let place: Home

beforeAll(() => {
  place = newHome()
})

afterAll(() => place.end())

const kept = () => openTokens(place.home)

test('create prints only the token on stdout; the server accepts it, and only its digest is stored', async () => {
  const { code, stdout, stderr } = await place.run('token', 'create', '--name', 'ada', '--scope', 'read')
  const token = stdout.trimEnd()
  expect([code, stdout]).toEqual([0, `${token}\n`])
  const [, id] = TOKEN.exec(token) ?? []
  expect(stderr).toMatch(new RegExp(`^Token ${id} \\(ada, scope read, until .+ UTC\\)\\. It is not shown again\\.\\n$`))
  expect(kept().verify(token)).toMatchObject({ id, name: 'ada', scope: 'read', instance: null })
  const file = join(place.home, 'tokens.json')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, 'utf8')).not.toContain(token.slice(-43))
  const listed = await place.run('token', 'list')
  expect(listed.stdout).toContain('ada')
  expect(listed.stdout).not.toContain(token.slice(-43))
})

test('create --json prints a document; a token is valid for 30 days with the scope run', async () => {
  const { code, stdout, stderr } = await place.run('token', 'create', '--json')
  expect([code, stderr]).toEqual([0, ''])
  const document = JSON.parse(stdout) as Record<string, string>
  expect(document).toEqual({
    schema: 'resolve.token/1',
    token: expect.stringMatching(TOKEN),
    id: expect.stringMatching(/^[0-9a-f]{8}$/),
    name: `token-${document['id']}`,
    scope: 'run',
    instance: null,
    created_at: expect.stringMatching(/Z$/),
    expires_at: expect.stringMatching(/Z$/),
  })
  const good = Date.parse(document['expires_at'] ?? '') - Date.parse(document['created_at'] ?? '')
  expect(good).toBe(30 * 24 * 60 * 60_000)
})

test('--expires takes a duration or never, --instance takes an id prefix', async () => {
  const ran = JSON.parse((await place.run('run', 'hello', '-i', 'name=Ada', '--json')).stdout) as {
    instance_id: string
  }
  const id = ran.instance_id
  const made = async (...args: string[]) =>
    JSON.parse((await place.run('token', 'create', '--json', ...args)).stdout) as Record<string, string | null>
  expect(await made('--expires', 'never', '--instance', id.slice(0, 6))).toMatchObject({
    expires_at: null,
    instance: id,
  })
  const hours = await made('--expires', '8h')
  expect(Date.parse(hours['expires_at'] ?? '') - Date.parse(hours['created_at'] ?? '')).toBe(8 * 60 * 60_000)
})

test('list shows every token with its scope', async () => {
  const json = JSON.parse((await place.run('token', 'list', '--json')).stdout) as { tokens: Record<string, unknown>[] }
  expect(json).toMatchObject({ schema: 'resolve.tokens/1' })
  expect(json.tokens.map(({ id }) => id)).toEqual(
    kept()
      .list()
      .map(({ id }) => id),
  )
  for (const token of json.tokens) {
    expect(Object.keys(token)).toEqual(['id', 'name', 'scope', 'instance', 'created_at', 'expires_at'])
  }
  const [title = '', ...rows] = (await place.run('token', 'list')).stdout.trimEnd().split('\n')
  expect(title.split(/\s+/)).toEqual(['ID', 'NAME', 'SCOPE', 'INSTANCE', 'CREATED', 'EXPIRES'])
  expect(rows).toHaveLength(json.tokens.length)
})

test('revoke takes an id or a name, and refuses a token that is gone', async () => {
  const token = (await place.run('token', 'create', '--name', 'page')).stdout.trim()
  await place.run('token', 'create', '--name', 'page')
  const id = TOKEN.exec(token)?.[1] as string
  const one = await place.run('token', 'revoke', id)
  expect([one.code, one.stdout]).toEqual([
    0,
    expect.stringMatching(new RegExp(`^Token ${id} \\(page, .+\\): revoked\\.\n$`)),
  ])
  expect(kept().verify(token)).toBeUndefined()
  await place.run('token', 'create', '--name', 'page')
  const all = JSON.parse((await place.run('token', 'revoke', 'page', '--json')).stdout) as { revoked: unknown[] }
  expect(all).toMatchObject({ schema: 'resolve.revoked/1', revoked: [{ name: 'page' }, { name: 'page' }] })
  const none = await place.run('token', 'revoke', 'page', '--json')
  expect([none.code, JSON.parse(none.stdout)]).toMatchObject([6, { error: { code: 'token_unknown' } }])
})

test.each([
  ['an unknown scope', 2, ['--scope', 'root']],
  ['an admin of one instance', 2, ['--scope', 'admin', '--instance', '@last']],
  ['a time that is none', 2, ['--expires', 'soon']],
  ['no time at all', 2, ['--expires', '0s']],
  ['a name that moves the cursor', 2, ['--name', 'a\u001b[2J']],
  ['an instance that is not there', 6, ['--instance', 'ffffffffffff']],
  ['a word too many', 2, ['ada']],
])('%s is refused, and no token is printed', async (_, exit, args) => {
  const before = kept().list()
  const { code, stdout } = await place.run('token', 'create', ...args)
  expect([code, stdout]).toEqual([exit, ''])
  expect(kept().list()).toEqual(before)
})

test('token commands refuse --server', async () => {
  const flag = await place.run('token', 'list', '--server', 'http://127.0.0.1:1')
  const variable = await place.with({ env: { RESOLVE_URL: 'http://127.0.0.1:1' } }, 'token', 'create')
  expect([flag.code, variable.code, variable.stdout]).toEqual([2, 2, ''])
})

test('a token file that others can read is made private, with a warning', async () => {
  const file = join(place.home, 'tokens.json')
  chmodSync(file, 0o644)
  const { code, stderr } = await place.run('token', 'list')
  expect([code, stderr]).toEqual([0, expect.stringContaining('could read')])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect((await place.run('token', 'list')).stderr).toBe('')
})

test('completion suggests scopes and tokens', async () => {
  const suggested = async (...words: string[]) =>
    (await inTime(() => place.run('__complete', '--', ...words))).stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t')[0])
  expect(await suggested('token', '')).toEqual(['create', 'list', 'revoke'])
  expect(await suggested('token', 'create', '--scope', '')).toEqual(['read', 'run', 'admin'])
  expect(await suggested('token', 'revoke', '')).toEqual(
    kept()
      .list()
      .map(({ id }) => id),
  )
})

test('a broken token file is named in the error, and kept unchanged', async () => {
  const file = join(place.home, 'tokens.json')
  const whole = readFileSync(file)
  writeFileSync(file, whole.subarray(0, 60))
  for (const words of [['create'], ['list'], ['revoke', 'ada']]) {
    const { code, stdout, stderr } = await place.run('token', ...words)
    expect([code, stdout]).toEqual([10, ''])
    expect(stderr).toContain(file)
  }
  expect(readFileSync(file)).toEqual(whole.subarray(0, 60))
  writeFileSync(file, whole)
})

test('list prints no token in a home without tokens', async () => {
  const fresh = newHome()
  try {
    const person = await fresh.run('token', 'list')
    expect([person.code, person.stdout, person.stderr]).toEqual([0, '', expect.stringContaining('token create')])
    expect(JSON.parse((await fresh.run('token', 'list', '--json')).stdout)).toMatchObject({ tokens: [] })
  } finally {
    await fresh.end()
  }
})
