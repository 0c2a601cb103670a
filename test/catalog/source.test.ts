import { homedir } from 'node:os'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isRef, parseSource } from '../../src/core/catalog/manifest/source.ts'
import { ResolveError } from '../../src/core/errors.ts'

const git = (url: string, ref: string | null, name: string | null = null) => ({ kind: 'git', url, ref, name })

test.each([
  ['https://example.org/team/x', git('https://example.org/team/x', null)],
  ['HTTPS://example.org/team/x.git', git('https://example.org/team/x.git', null)],
  ['git+https://example.org/team/x@v1.2', git('https://example.org/team/x', 'v1.2')],
  ['GIT+HTTPS://example.org:8443/x@feature/y', git('https://example.org:8443/x', 'feature/y')],
  ['git+https://example.org/@scope/x', git('https://example.org/@scope/x', null)],
  ['git+https://example.org/@scope/x@main', git('https://example.org/@scope/x', 'main')],
  ['ssh://git@example.org:22/x', git('ssh://git@example.org:22/x', null)],
  ['git+ssh://git@example.org/x@main', git('ssh://git@example.org/x', 'main')],
  ['git@example.org:team/x.git', git('git@example.org:team/x.git', null)],
  ['git@example.org:team/x.git@v1', git('git@example.org:team/x.git', 'v1')],
  ['notes @ git+https://example.org/x@v1', git('https://example.org/x', 'v1', 'notes')],
  ['  notes  @  git@example.org:x  ', git('git@example.org:x', null, 'notes')],
  ['git+file:///srv/x.git@main', git('file:///srv/x.git', 'main')],
])('%s is a git source (R5)', (text, expected) => {
  expect(parseSource(text, '/home/ada')).toMatchObject(expected)
})

test.each([
  ['.', '/home/ada'],
  ['../x', '/home/x'],
  ['resolvers/x/', '/home/ada/resolvers/x'],
  ['/srv/x', '/srv/x'],
  ['~', homedir()],
  ['~/x', `${homedir()}/x`],
  ['a@b', '/home/ada/a@b'],
])('%s is a directory (R5)', (text, path) => {
  expect(parseSource(text, '/home/ada')).toEqual({ kind: 'directory', path })
})

test.each([
  ['', /empty/],
  ['--upload-pack=touch x', /begins with "-"/],
  ['http://example.org/x', /use https/],
  ['git://example.org/x', /use https/],
  ['file:///srv/x', /git\+file/],
  ['ext::sh -c id', /run a program/],
  ['EXT::sh -c id', /run a program/],
  ['fd::17', /run a program/],
  ['ftp://example.org/x', /not a supported scheme/],
  ['git+http://example.org/x', /not a supported scheme/],
  ['https://user@example.org/x', /user or a password/],
  ['https://user:secret@example.org/x', /user or a password/],
  ['ssh://git:secret@example.org/x', /user or a password/],
  ['ssh://-oProxyCommand=x/x', /not a host/],
  ['ssh://-oProxyCommand=x@example.org/x', /user name/],
  ['https:///x', /no host/],
  ['https://example.org', /no repository/],
  ['https://example.org/', /no repository/],
  ['https://example.org/x?token=abc', /ends before/],
  ['https://example.org/x#egg=y', /ends before/],
  ['git+https://example.org/x@', /no ref/],
  ['git+https://example.org/x@-f', /not a branch/],
  ['git+https://example.org/x@a..b', /not a branch/],
  ['git+https://example.org/x@a b', /spaces/],
  ['git+file://host/x', /three slashes/],
  ['git@example.org:-x', /begins with "-"/],
  ['notes @ ./x', /not a git address/],
  ['My_Notes @ https://example.org/x', /resolver's name/],
  ['a\nb', /control character/],
  ['builtin:../x', /resolver's name/],
])('%j is refused, and says why', (text, reason) => {
  try {
    parseSource(text, '/')
  } catch (error) {
    expect(error).toMatchObject({ code: 'source_invalid', message: expect.stringMatching(reason) })
    return
  }
  expect.unreachable()
})

test('a refusal never repeats a secret', () => {
  for (const text of [
    'https://user:s3cret@example.org/x',
    'https://s3cret@example.org/x',
    'https://example.org/x?t=s3cret',
  ]) {
    try {
      parseSource(text, '/')
      expect.unreachable()
    } catch (error) {
      expect(JSON.stringify([(error as Error).message, (error as ResolveError).details])).not.toContain('s3cret')
    }
  }
})

test('a ref is one that git accepts, and never an option', () => {
  for (const ref of ['main', 'v1.2', 'feature/a-b', '0123abc', 'x'.repeat(200)]) expect(isRef(ref), ref).toBe(true)
  const bad = [
    '',
    '-x',
    '/x',
    'x/',
    'a//b',
    '.x',
    'a/.b',
    'x.lock',
    'x.',
    'a..b',
    'a b',
    'a:b',
    '+a',
    'a*',
    'x'.repeat(201),
    'ä',
    'a\n',
  ]
  for (const ref of bad) expect(isRef(ref), ref).toBe(false)
})

test('any text gives a source or an error of the catalogue', () => {
  const piece = fc.constantFrom(
    'git+',
    'https',
    '://',
    '@',
    ':',
    '/',
    '-',
    'a',
    '..',
    '~',
    ' ',
    '::',
    'file',
    'ssh',
    '%',
    '\\',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece, { maxLength: 12 }).map((parts) => parts.join('')),
      ),
      (text) => {
        try {
          const source = parseSource(text, '/srv')
          if (source.kind !== 'git') return
          expect(source.url).toMatch(/^(https:\/\/[^-@]|ssh:\/\/[^-]|file:\/\/\/|[\w][\w.-]*@[\w])/)
          expect(source.ref ?? 'x').not.toMatch(/^-/)
        } catch (error) {
          if (!(error instanceof ResolveError)) throw error
          expect(error.code).toBe('source_invalid')
        }
      },
    ),
    { numRuns: 2_000 },
  )
})
