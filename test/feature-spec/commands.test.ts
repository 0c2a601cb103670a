/** `resolve spec check` and `resolve spec init`, and a run with a faulty spec, through the built program. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXAMPLE_FEATURE_SPEC as EXAMPLE } from '../../src/core/feature-spec/example.ts'
import { FEATURE_SPEC_MAX_BYTES } from '../../src/core/limits.ts'
import { type Home, newHome } from '../commands/cli.ts'
import { fixture } from '../support/fixtures.ts'

let place: Home
let folder: string

beforeAll(() => {
  place = newHome()
  folder = mkdtempSync(join(tmpdir(), 'resolve-specs-'))
})

afterAll(async () => {
  await place.end()
  rmSync(folder, { recursive: true, force: true })
})

const run = (...args: string[]) => place.with({ cwd: folder }, 'spec', ...args)
const faulty = EXAMPLE.replace('Add notes', 'Adds notes').replace('(200 OK)', '(2xx)')

// verifies: S-SPEC-01
test('init writes an example that passes the check, and keeps a file that is there unless it is forced', async () => {
  expect(await run('init', 'made.md')).toMatchObject({ code: 0, stdout: 'Wrote made.md.\n' })
  expect(await run('check', 'made.md')).toMatchObject({
    code: 0,
    stdout: '✓ made.md: 3 endpoints, 5 proofs; 4 HTTP checks\n',
    stderr: '',
  })
  writeFileSync(join(folder, 'made.md'), 'mine')
  const refused = await run('init', 'made.md')
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('made.md exists. Name another file, or overwrite it with --force.')
  expect(readFileSync(join(folder, 'made.md'), 'utf8')).toBe('mine')
  expect((await run('init', 'made.md', '--force')).code).toBe(0)
  expect(readFileSync(join(folder, 'made.md'), 'utf8')).toBe(EXAMPLE)
  expect(await run('init', '-')).toMatchObject({ code: 0, stdout: EXAMPLE })
})

test('check tells every fault with its line and a better example, and ends with 5', async () => {
  writeFileSync(join(folder, 'faulty.md'), faulty)
  const { code, stdout, stderr } = await run('check', 'faulty.md')
  expect({ code, stderr }).toEqual({ code: 5, stderr: '' })
  expect(
    stdout,
  ).toBe(`faulty.md:3: fault: The intent starts with "Adds", which is no verb in the imperative. (intent_verb)
  better: Add notes with a text to the existing API.
faulty.md:23: fault: "2xx" is not one status. (status_inexact)
  better: 201 instead of 2xx
✗ faulty.md: 2 faults
`)
})

test('check of several files and of stdin as JSON, with the checks that follow', async () => {
  writeFileSync(join(folder, 'faulty.md'), faulty)
  const { code, stdout } = await place.with(
    { cwd: folder, stdin: EXAMPLE },
    'spec',
    'check',
    '-',
    'faulty.md',
    '--json',
  )
  const document = JSON.parse(stdout)
  expect(code).toBe(5)
  expect(document).toMatchObject({ schema: 'resolve.spec-check/1', exit_code: 5, valid: false })
  expect(document.files[0]).toMatchObject({ file: '-', valid: true, faults: [] })
  expect(document.files[0].checks.length).toBe(4)
  expect(document.files[1]).toMatchObject({ file: 'faulty.md', valid: false, checks: [] })
  expect(document.files[1].faults.map(({ rule }: { rule: string }) => rule)).toEqual(['intent_verb', 'status_inexact'])
})

test('a file that is missing, no text, a directory or too large', async () => {
  expect((await run('check', 'nowhere.md')).code).toBe(6)
  writeFileSync(join(folder, 'bytes.md'), Buffer.from([0xff, 0xfe, 0x00]))
  expect(await run('check', 'bytes.md')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('it is not UTF-8 text'),
  })
  expect(await run('check', '.')).toMatchObject({ code: 5, stderr: expect.stringContaining('it is a directory') })
  writeFileSync(join(folder, 'large.md'), 'ä'.repeat(FEATURE_SPEC_MAX_BYTES))
  const large = await run('check', 'large.md')
  expect(large).toMatchObject({ code: 5, stdout: expect.stringContaining('(too_large)') })
})

test('a run with a faulty spec from a file is refused with every fault; with a good one it runs', async () => {
  expect((await place.run('resolver', 'add', fixture('wants-spec').dir)).code).toBe(0)
  writeFileSync(join(folder, 'faulty.md'), faulty)
  writeFileSync(join(folder, 'good.md'), EXAMPLE)
  const start = (file: string) => place.with({ cwd: folder }, 'run', 'wants-spec', '-i', `spec=@${file}`, '--json')
  const refused = await start('faulty.md')
  expect(refused.code).toBe(5)
  expect(refused.stdout + refused.stderr).toContain('Line 23: \\"2xx\\" is not one status.')
  const done = await start('good.md')
  expect(done.code).toBe(0)
  expect(JSON.parse(done.stdout).output).toMatch(/^A spec of \d+ characters$/)
})
