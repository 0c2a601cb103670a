/** `resolve instance export`: what is in the archive, what is not, and how it is written. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { doer, type Home, newHome } from './cli.ts'

const SECRET = 'tok-53cr3t'
const folder = mkdtempSync(join(tmpdir(), 'resolve-export-'))
let place: Home

beforeAll(async () => {
  place = newHome()
  expect((await place.run('resolver', 'add', doer())).code).toBe(0)
})

afterAll(async () => {
  rmSync(folder, { recursive: true })
  await place.end()
})

async function made(...args: string[]): Promise<string> {
  const env = { RESOLVE_GIT_HOST_TOKEN: SECRET, RESOLVE_LLM_PROVIDER_API_KEY: SECRET }
  const { stdout } = await place.with({ env }, 'run', 'doer', '--json', ...args)
  return (JSON.parse(stdout) as { instance_id: string }).instance_id
}

/** Every file of the archive, by its path below the folder of the instance. */
function unpacked(archive: string, id: string): Map<string, string> {
  const into = mkdtempSync(join(folder, 'unpacked-'))
  execFileSync('tar', ['-xzf', archive, '-C', into])
  expect(readdirSync(into)).toEqual([`resolve-${id}`])
  const root = join(into, `resolve-${id}`)
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).toSorted()
  return new Map(
    names
      .filter((name) => statSync(join(root, name)).isFile())
      .map((name) => [name, readFileSync(join(root, name), 'utf8')]),
  )
}

test('an archive holds record, journal, events, state and data of an ended instance, and no secrets or planted links', async () => {
  const id = await made('-i', 'do=data')
  const data = join(instancePaths(place.home, id).project, '.resolve', 'data')
  symlinkSync('/etc/passwd', join(data, 'planted'))
  const { code, stdout } = await place.with({ cwd: folder }, 'instance', 'export', id)
  expect({ code, stdout }).toEqual({ code: 0, stdout: `resolve-${id}.tar.gz\n` })
  const archive = join(folder, `resolve-${id}.tar.gz`)
  expect((statSync(archive).mode & 0o777).toString(8)).toBe('600')
  const files = unpacked(archive, id)
  expect([...files.keys()]).toEqual([
    'data/deep/report.md',
    'data/raw.bin',
    'events.jsonl',
    'journal',
    'record.json',
    'state.json',
    'stderr',
  ])
  expect(JSON.parse(files.get('record.json') ?? '')).toMatchObject({ instance_id: id, status: 'completed' })
  expect(files.get('events.jsonl')).toBe((await place.run('instance', 'events', id, '--jsonl')).stdout)
  const lines = readFileSync(instancePaths(place.home, id).journal, 'utf8').split('\n')
  // Private lines are the host's: one marks that the resolver took its run.
  expect(lines.filter((line) => line.startsWith('p\t')).length).toBeGreaterThan(0)
  expect(files.get('journal')).toBe(lines.filter((line) => !line.startsWith('p\t')).join('\n'))
  expect(files.get('data/deep/report.md')).toBe('# Report\n')
  expect([...files.values()].join('')).not.toContain(SECRET)
})

test('an archive of a live instance holds questions and answers, and no secrets of its config', async () => {
  const id = await made('-i', 'do=ask-twice')
  expect((await place.run('instance', 'answer', id, 'gate-1', '-i', 'why=because')).code).toBe(0)
  const config = join(instancePaths(place.home, id).project, '.resolve', 'config.json')
  expect(readFileSync(config, 'utf8')).toContain(SECRET)
  const path = join(folder, 'running.tar.gz')
  const { stdout } = await place.run('instance', 'export', id, '-o', path, '--json')
  expect(JSON.parse(stdout)).toEqual({
    ...{ schema: 'resolve.export/1', instance_id: id, path, bytes: statSync(path).size },
  })
  const files = unpacked(path, id)
  const answered = JSON.parse(files.get('input-requests/gate-1.json') ?? '') as Record<string, unknown>
  expect(answered).toMatchObject({ status: 'answered', via: 'cli', answer: { why: 'because' } })
  expect(JSON.parse(files.get('input-requests/gate-2.json') ?? '')).toMatchObject({ status: 'pending', answer: null })
  expect([...files.values()].join('')).not.toContain(SECRET)
})

test('an archive is written into a directory, and replaces a file only with --force', async () => {
  const id = await made('-i', 'do=this')
  const path = join(folder, `resolve-${id}.tar.gz`)
  writeFileSync(path, 'mine')
  const refused = await place.run('instance', 'export', id, '-o', folder)
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('--force')
  expect(readFileSync(path, 'utf8')).toBe('mine')
  expect((await place.run('instance', 'export', id, '-o', folder, '--force')).stdout).toBe(`${path}\n`)
  expect(unpacked(path, id).has('record.json')).toBe(true)
  expect((await place.run('instance', 'export', 'ffffffffffff')).code).toBe(6)
})
