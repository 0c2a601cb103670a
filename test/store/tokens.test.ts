/** The tokens of a home (R38): told once, kept as digests, revoked at once, and nothing opened by a file that cannot be believed. */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openTokens, type TokenEntry } from '../../src/core/index.ts'

let home: string
let file: string

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'resolve-tokens-'))
  file = join(home, 'tokens.json')
})

afterEach(() => rmSync(home, { recursive: true, force: true }))

const stored = () => (JSON.parse(readFileSync(file, 'utf8')) as { tokens: TokenEntry[] }).tokens

test('a token is shown once; the file is 0600 and holds its SHA-256 and no part of its secret (R38)', async () => {
  const { token, entry } = await openTokens(home).create({ name: 'ada', scope: 'read' })
  expect(token).toMatch(new RegExp(`^rslv_${entry.id}_[A-Za-z0-9_-]{43}$`))
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, 'utf8')).not.toContain(token.slice(-43))
  expect(stored()).toEqual([entry])
  expect(entry).toEqual({
    id: entry.id,
    name: 'ada',
    scope: 'read',
    instance: null,
    sha256: createHash('sha256').update(token).digest('hex'),
    created_at: expect.stringMatching(/^\d{4}-.+Z$/),
    expires_at: null,
  })
  expect(readdirSync(home).filter((name) => name.startsWith('tokens') || name.startsWith('.'))).toEqual(['tokens.json'])
})

test('only the exact text verifies', async () => {
  const tokens = openTokens(home)
  const { token, entry } = await tokens.create()
  const other = await tokens.create()
  expect(tokens.verify(token)).toEqual(entry)
  const turned = token.endsWith('A') ? 'B' : 'A'
  const wrong = [
    '',
    token.slice(0, -1),
    `${token}A`,
    ` ${token}`,
    `${token}\n`,
    token.slice(0, -1) + turned,
    token.toUpperCase(),
    token.replace(entry.id, other.entry.id),
    token.replace(entry.id, '00000000'),
    entry.sha256,
    `rslv_${entry.id}_${entry.sha256.slice(0, 43)}`,
    entry.id,
  ]
  expect(wrong.map((text) => tokens.verify(text))).toEqual(wrong.map(() => undefined))
})

test('an expired token no longer verifies, and is removed from the list a month later (R38)', async () => {
  let now = Date.parse('2026-01-01T00:00:00Z')
  const tokens = openTokens(home, { now: () => now })
  const { token, entry } = await tokens.create({ expiresMs: 1_000 })
  expect(entry.expires_at).toBe('2026-01-01T00:00:01.000Z')
  now += 999
  expect(tokens.verify(token)?.id).toBe(entry.id)
  now += 1
  expect(tokens.verify(token)).toBeUndefined()
  expect(tokens.list()).toHaveLength(1)
  now += 31 * 24 * 60 * 60_000
  const next = await tokens.create()
  expect(tokens.list()).toEqual([next.entry])
})

test('tokens made or revoked by another process count at the next check', async () => {
  const server = openTokens(home)
  const elsewhere = openTokens(home)
  expect(server.list()).toEqual([])
  const { token, entry } = await elsewhere.create()
  expect(server.verify(token)?.id).toBe(entry.id)
  await elsewhere.revoke(entry.id)
  expect(server.verify(token)).toBeUndefined()
})

test('a token is revoked by id, or all tokens of a name; an unknown one is refused', async () => {
  const tokens = openTokens(home)
  const [one, two, three] = [
    await tokens.create({ name: 'page' }),
    await tokens.create({ name: 'page' }),
    await tokens.create({ name: 'ada' }),
  ]
  expect(await tokens.revoke(three.entry.id)).toEqual([three.entry])
  expect(await tokens.revoke('page')).toEqual([one.entry, two.entry])
  expect(tokens.list()).toEqual([])
  await expect(tokens.revoke('page')).rejects.toMatchObject({ code: 'token_unknown', httpStatus: 404 })
})

test('tokens made at the same time are all stored', async () => {
  const made = await Promise.all(Array.from({ length: 12 }, () => openTokens(home).create()))
  const tokens = openTokens(home)
  expect(
    tokens
      .list()
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(made.map(({ entry }) => entry.id).toSorted())
  expect(made.every(({ token }) => tokens.verify(token) !== undefined)).toBe(true)
})

test.each([
  ['a name of spaces', { name: ' ' }],
  ['a name that moves the cursor', { name: 'a\u001b[2J' }],
  ['a name of 65 letters', { name: 'a'.repeat(65) }],
  ['half an instance', { instance: '4f0c' }],
  ['an admin of one instance', { instance: '4f0c9a51be27', scope: 'admin' as const }],
  ['no time at all', { expiresMs: 0 }],
  ['a time that is no number', { expiresMs: Number.NaN }],
  ['more than a hundred years', { expiresMs: 1e15 }],
])('%s is refused, and nothing is written', async (_, request) => {
  await expect(openTokens(home).create(request)).rejects.toMatchObject({ code: 'usage' })
  expect(readdirSync(home)).not.toContain('tokens.json')
})

test('a file that others can read is made private, and the caller is told', async () => {
  const tokens = openTokens(home)
  const { token } = await tokens.create()
  expect(tokens.warning()).toBeNull()
  chmodSync(file, 0o644)
  expect(tokens.verify(token)).toBeDefined()
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(tokens.warning()).toContain(file)
})

const good = () => ({
  ...{ id: '0123abcd', name: 'a', scope: 'read', instance: null, sha256: '0'.repeat(64) },
  ...{ created_at: '2026-01-01T00:00:00.000Z', expires_at: null },
})
const whole = (...tokens: unknown[]) => JSON.stringify({ schema_version: 1, tokens })

test('a private file is reported as healthy', () => {
  writeFileSync(file, whole(good()), { mode: 0o600 })
  expect(openTokens(home).problem()).toBeNull()
})

test.each([
  ['half a file', whole(good()).slice(0, 50)],
  ['nothing', ''],
  ['a list', '[]'],
  ['another version', JSON.stringify({ schema_version: 2, tokens: [] })],
  ['no list of tokens', JSON.stringify({ schema_version: 1, tokens: {} })],
  ['an entry that is null', whole(null)],
  ['an id of capitals', whole({ ...good(), id: '0123ABCD' })],
  ['an unknown scope', whole({ ...good(), scope: 'root' })],
  ['a short digest', whole({ ...good(), sha256: '00' })],
  ['an instance that is none', whole({ ...good(), instance: '../..' })],
  ['no word on when it ends', whole({ ...good(), expires_at: undefined })],
  ['an end that is no time', whole({ ...good(), expires_at: 'soon' })],
  ['one id twice', whole(good(), good())],
  ['zeros', '\0'.repeat(64)],
])('with %s in the file no token verifies, the file is not replaced, and it can be moved aside', async (_, text) => {
  const tokens = openTokens(home)
  const { token } = await tokens.create()
  writeFileSync(file, text)
  expect(tokens.verify(token)).toBeUndefined()
  expect(tokens.problem()).toMatchObject({ code: 'tokens_broken' })
  expect(() => tokens.list()).toThrow(expect.objectContaining({ code: 'tokens_broken' }))
  await expect(tokens.create()).rejects.toMatchObject({ code: 'tokens_broken' })
  await expect(tokens.revoke('a')).rejects.toMatchObject({ code: 'tokens_broken' })
  expect(readFileSync(file, 'utf8')).toBe(text)

  const aside = await tokens.quarantine()
  expect(aside).toMatch(/tokens\.json\.broken-[0-9TZ-]+$/)
  expect(readFileSync(aside as string, 'utf8')).toBe(text)
  expect(tokens.problem()).toBeNull()
  expect(tokens.verify(token)).toBeUndefined()
  expect(await tokens.quarantine()).toBeUndefined()
  const next = await tokens.create()
  expect(tokens.list()).toEqual([next.entry])
})

test('a link in the place of the file is not followed', async () => {
  const elsewhere = join(home, 'elsewhere.json')
  writeFileSync(elsewhere, whole(good()), { mode: 0o600 })
  symlinkSync(elsewhere, file)
  expect(openTokens(home).problem()?.message).toContain('it is a link')
})

test('a repaired file verifies tokens again', async () => {
  const tokens = openTokens(home)
  const { token } = await tokens.create()
  const before = readFileSync(file)
  writeFileSync(file, '{')
  expect(tokens.verify(token)).toBeUndefined()
  writeFileSync(file, before)
  expect(tokens.verify(token)).toBeDefined()
})

test('the error about a broken file quotes nothing from it', () => {
  const secret = 'rslv_0123abcd_0123456789012345678901234567890123456789abc'
  writeFileSync(file, whole({ ...good(), sha256: secret }), { mode: 0o600 })
  expect(openTokens(home).problem()?.message).not.toContain(secret)
})
