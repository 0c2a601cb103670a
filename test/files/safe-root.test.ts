import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { beforeEach, expect, test } from 'vitest'
import { SafeRoot } from '../../src/core/files/safe-root.ts'

let base: string
let root: SafeRoot
const CANARY = 'the canary of the host'

beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'resolve-root-'))
  fs.mkdirSync(join(base, 'coordination/data'), { recursive: true })
  fs.mkdirSync(join(base, 'outside'))
  fs.writeFileSync(join(base, 'outside/secret'), CANARY)
  root = new SafeRoot(join(base, 'coordination'))
})

const at = (path: string) => join(base, 'coordination', path)

test('a regular file is read, a missing one is undefined', () => {
  fs.writeFileSync(at('data/a.txt'), 'A')
  expect(root.readFile('data/a.txt', 10)?.toString()).toBe('A')
  expect(root.readFile('data/b.txt', 10)).toBeUndefined()
  expect(root.readFile('none/b.txt', 10)).toBeUndefined()
})

// threats FS-1, FS-3, FS-4
test.each([
  ['a link to a file', () => fs.symlinkSync(join(base, 'outside/secret'), at('data/x'))],
  ['a dangling link', () => fs.symlinkSync('/nowhere', at('data/x'))],
  ['a directory', () => fs.mkdirSync(at('data/x'))],
  ['a FIFO', () => execFileSync('mkfifo', [at('data/x')])],
  [
    'a linked directory',
    () => {
      fs.rmdirSync(at('data'))
      fs.symlinkSync(join(base, 'outside'), at('data'))
    },
  ],
])('%s is refused, and nothing behind it is read', (_, plant) => {
  plant()
  for (const path of ['data/x', 'data/secret']) {
    let read: Buffer | undefined
    try {
      read = root.readFile(path, 1_000)
    } catch (error) {
      expect((error as { code: string }).code).toBe('coordination_tampered')
    }
    expect(read?.toString() ?? '').not.toContain(CANARY)
  }
  expect(() => root.readFile('data/x', 1_000)).toThrow(/coordination file/)
})

test.each(['', '/', 'a//b', '../outside/secret', 'data/../../outside/secret', './data', 'a\\b', 'a\0b', '/etc/passwd'])(
  'the path %j is refused before anything is opened',
  (path) => {
    expect(() => root.readFile(path, 10)).toThrow('The path is not a valid path below the data directory.')
  },
)

test('a file over the limit is refused before it is read, a sparse one too', () => {
  fs.writeFileSync(at('data/big'), '')
  fs.truncateSync(at('data/big'), 2 ** 40)
  expect(() => root.readFile('data/big', 1_000)).toThrow(/over the limit/)
})

// threats WR-1, WR-2
test('writing replaces a planted link and never follows it; a planted directory link is refused', () => {
  fs.symlinkSync(join(base, 'outside/secret'), at('data/x'))
  root.writeFile('data/x', 'mine')
  expect(fs.readFileSync(join(base, 'outside/secret'), 'utf8')).toBe(CANARY)
  expect(fs.readFileSync(at('data/x'), 'utf8')).toBe('mine')
  fs.symlinkSync(join(base, 'outside'), at('messages'))
  expect(() => root.writeFile('messages/001.json', '{}')).toThrow(/symbolic link|directory/)
  expect(() => root.makeDirectory('messages')).toThrow()
  expect(fs.readdirSync(join(base, 'outside'))).toEqual(['secret'])
})

test('creating is refused where the name is taken, and leaves no temporary file', () => {
  expect(root.createFile('data/once', '1')).toBe(true)
  expect(root.createFile('data/once', '2')).toBe(false)
  expect(fs.readFileSync(at('data/once'), 'utf8')).toBe('1')
  expect(fs.readdirSync(at('data'))).toEqual(['once'])
})

test('the listing holds regular files at any depth, and neither links nor their targets', async () => {
  fs.mkdirSync(at('data/deep/er'), { recursive: true })
  fs.writeFileSync(at('data/deep/er/f'), '12')
  fs.symlinkSync(join(base, 'outside'), at('data/away'))
  const found = await root.files('data', 100)
  expect(found.map((file) => [file.path, file.bytes])).toEqual([['deep/er/f', 2]])
  expect(await root.files('data/none', 100)).toEqual([])
})

// threats FS-7
test('a listing counts directories as well as files, looks at a limited number, and others get their turn meanwhile', async () => {
  const names = Array.from({ length: 600 }, (_, n) => `data/${n}`)
  for (const name of names) fs.mkdirSync(at(name))
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  expect(await root.files('data', 10_000)).toEqual([])
  isOver = true
  expect(turns).toBeGreaterThan(2)
  for (const name of names) fs.writeFileSync(at(`${name}/f`), '')
  // Of 1,200 entries: the directories, and as many files as are left.
  expect((await root.files('data', 10_000, 1_000)).length).toBeLessThanOrEqual(400)
  expect(await root.files('data', 10_000, 1_200)).toHaveLength(600)
  expect(await root.files('data', 7)).toHaveLength(7)
})

test('a listing whose directory is closed meanwhile ends, and reads nothing else', async () => {
  for (let n = 0; n < 400; n += 1) fs.writeFileSync(at(`data/f${n}`), '')
  const listing = root.files('data', 10_000)
  root.close()
  const others = Array.from({ length: 20 }, () => fs.openSync(join(base, 'outside'), 'r'))
  for (const { path } of await listing) expect(path).toMatch(/^f\d+$/)
  for (const fd of others) fs.closeSync(fd)
  root = new SafeRoot(join(base, 'coordination'))
})

// threats FS-2
test('a directory that is swapped for a link again and again never leaks the target of the link', async () => {
  fs.mkdirSync(at('real'))
  fs.writeFileSync(at('real/secret'), 'harmless')
  const swapper = new Worker(
    `const fs = require('node:fs'); const at = ${JSON.stringify(`${at('')}/`)}; const end = Date.now() + 1500
     fs.symlinkSync(${JSON.stringify(join(base, 'outside'))}, at + 'link')
     while (Date.now() < end) { try { fs.renameSync(at + 'real', at + 'aside'); fs.renameSync(at + 'link', at + 'real')
       fs.renameSync(at + 'real', at + 'link'); fs.renameSync(at + 'aside', at + 'real') } catch {} }`,
    { eval: true },
  )
  let isSwapping = true
  swapper.on('exit', () => {
    isSwapping = false
  })
  let looks = 0
  let refused = 0
  while (isSwapping) {
    for (let n = 0; n < 200; n += 1) {
      looks += 1
      try {
        expect(root.readFile('real/secret', 1_000)?.toString() ?? 'gone').not.toContain(CANARY)
      } catch (error) {
        expect((error as { code?: string }).code).toBe('coordination_tampered')
        refused += 1
      }
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(looks).toBeGreaterThan(500)
  expect(refused).toBeGreaterThan(0)
})

test.skipIf(process.getuid?.() !== 0)(
  'a directory that a killed host had made and not given away is given away',
  () => {
    fs.mkdirSync(at('input-requests'))
    const owned = new SafeRoot(join(base, 'coordination'), { uid: 1000, gid: 1000 })
    owned.makeDirectory('input-requests')
    owned.close()
    expect(fs.statSync(at('input-requests')).uid).toBe(1000)
  },
)
