/** The archive, read back by the machine's own tar. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type TarEntry, tar } from '../../src/core/files/tar.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'resolve-tar-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const entry = (path: string, text: string, bytes = Buffer.byteLength(text)): TarEntry => {
  return { path, bytes, modifiedMs: Date.parse('2026-01-02T03:04:05Z'), content: [Buffer.from(text)] }
}

async function unpacked(entries: TarEntry[]): Promise<Map<string, string>> {
  const chunks: Buffer[] = []
  for await (const chunk of tar(entries)) chunks.push(chunk)
  const archive = Buffer.concat(chunks)
  expect(archive.length % 512).toBe(0)
  execFileSync('tar', ['-xf', '-', '-C', folder], { input: archive })
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const files = names.filter((name) => statSync(join(folder, name)).isFile())
  return new Map(files.toSorted().map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}

test.skipIf(spawnSync('tar', ['--version']).status !== 0)('names, sizes and times come back as they were', async () => {
  const long = `${'deep/'.repeat(40)}${'n'.repeat(200)}`
  const files = { 'a.txt': 'hello', 'b/empty': '', 'b/block': 'x'.repeat(512), 'ünï/数.txt': 'wide', [long]: 'long' }
  const back = await unpacked(Object.entries(files).map(([path, text]) => entry(path, text)))
  expect(Object.fromEntries(back)).toEqual(files)
  expect(statSync(join(folder, 'a.txt')).mtime.toISOString()).toBe('2026-01-02T03:04:05.000Z')
})

test('a file that shrinks while it is read is padded, one that grows is cut: the entries after it stay readable', async () => {
  const back = await unpacked([entry('short', 'ab', 5), entry('grown', 'abcdef', 3), entry('after', 'ok')])
  expect(Object.fromEntries(back)).toEqual({ after: 'ok', grown: 'abc', short: 'ab\0\0\0' })
})
