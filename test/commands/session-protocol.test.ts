/** LLM sessions of a resolver without the SDK, in Python: through the built program, a killed host, a pause and a killed worker. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installedFile } from '../../src/core/files/installation.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import { processesOf } from '../../src/sessions/guardian/processes.ts'
import type { Line } from '../../src/sessions/transcript/lines.ts'
import { fixture } from '../support/fixtures.ts'
import { storyOf } from '../support/instances.ts'
import { type Home, newHome } from './cli.ts'

let place: Home
let script: string

/** Says that it began, and never ends by itself. */
const waits = (number: number) => ({
  calls: [{ tool: 'shell', input: { command: `touch at-${number}; while :; do sleep 0.05; done` } }],
})

beforeAll(async () => {
  place = newHome()
  script = join(place.home, '..', 'script.json')
  mkdirSync(join(place.home, '..'), { recursive: true })
  const work = [
    { text: 'I write.', calls: [{ tool: 'write', input: { path: 'made.txt', content: 'made by a session\n' } }] },
    ...[1, 2, 3].map(waits),
    { text: 'It is written.' },
    { text: 'I made made.txt.' },
  ]
  writeFileSync(script, JSON.stringify({ sessions: { plan: [{ text: 'Write a file.' }], work } }))
  expect((await place.run('resolver', 'add', fixture('python-sessions').dir)).code).toBe(0)
})

afterAll(() => place.end())

function stepsOf(dir: string, session: string): number {
  const text = readFileSync(join(dir, 'sessions', session, 'transcript.jsonl'), 'utf8')
  const lines = text.trimEnd().split('\n')
  return lines.filter((line) => (JSON.parse(line) as Line).type === 'step').length
}

const helpersOf = (dir: string) => processesOf(dir).filter(({ helper }) => helper !== undefined)

// verifies: R40-SESSIONS R56 S-SDK-09
test('a Python resolver keeps its sessions through kill -9 of its host, a pause and kill -9 of itself: each step is paid once', async () => {
  const model = `model=scripted/${script}`
  const { stdout } = await place.run('run', 'python-sessions', '-i', 'task=Make a file', '-i', model, '--detach')
  const id = stdout.trim()
  const { project, owners, journal } = instancePaths(place.home, id)
  const dir = join(project, '.resolve')
  const began = (number: number) => {
    const file = `at-${number}`
    const look = () => [project, join(project, 'workspace')].some((where) => existsSync(join(where, file)))
    return expect.poll(look, { timeout: 30_000 }).toBe(true)
  }

  await began(1)
  expect(helpersOf(dir).length).toBeGreaterThan(0)
  process.kill(readOwner(owners)?.process.pid ?? 0, 'SIGKILL')
  await expect.poll(() => helpersOf(dir), { timeout: 20_000 }).toEqual([])
  // The worker goes on, and waits for another host.
  expect(processesOf(dir).map(({ argv }) => argv.at(-1))).toEqual(['resolver.py'])
  const env = { ...process.env, RESOLVE_HOME: place.home }
  spawn(process.execPath, [installedFile('host.js') as string, place.home, id], { stdio: 'ignore', env }).unref()

  await began(2)
  expect((await place.run('instance', 'pause', id)).code).toBe(0)
  await place.reaches(id, 'paused')
  expect(processesOf(dir)).toEqual([])

  expect((await place.run('instance', 'resume', id, '--detach')).code).toBe(0)
  await began(3)
  const worker = processesOf(dir).find(({ argv }) => argv.includes('resolver.py'))
  process.kill(worker?.pid ?? 0, 'SIGKILL')
  await place.reaches(id, 'paused')
  expect(processesOf(dir)).toEqual([])
  expect(storyOf(place.home, id).history.at(-1)?.reason).toBe('worker_lost')

  const { stdout: ended } = await place.run('instance', 'resume', id, '--json')
  expect(JSON.parse(ended)).toMatchObject({ status: 'completed', output: 'I made made.txt.' })
  expect(processesOf(dir)).toEqual([])
  expect([stepsOf(dir, 'plan'), stepsOf(dir, 'work')]).toEqual([1, 6])
  const told = [...readFileSync(journal, 'utf8').matchAll(/platform\.resolver\.session_(\w+)/g)].map(([, what]) => what)
  expect(told.toSorted()).toEqual([...Array(3).fill('completed'), ...Array(3).fill('dispatched')])
  expect(storyOf(place.home, id).sessions).toMatchObject([
    { id: 'plan', kind: 'scripted', status: 'completed', turns: 1, steps: 1 },
    { id: 'work', kind: 'scripted', status: 'completed', turns: 2, steps: 6 },
  ])
  const { stdout: transcript } = await place.run('instance', 'transcript', id, 'work')
  expect(transcript).toContain('made by a session')
}, 120_000)

test('a stop ends the sessions, and the run as cancelled', async () => {
  const model = `model=scripted/${script}`
  const { stdout } = await place.run('run', 'python-sessions', '-i', 'task=Make a file', '-i', model, '--detach')
  const id = stdout.trim()
  const dir = join(instancePaths(place.home, id).project, '.resolve')
  await expect.poll(() => processesOf(dir).some(({ call }) => call !== undefined), { timeout: 30_000 }).toBe(true)
  expect((await place.run('instance', 'stop', id, '--reason', 'enough')).code).toBe(0)
  await place.reaches(id, 'cancelled')
  expect(processesOf(dir)).toEqual([])
  expect(storyOf(place.home, id).history.at(-1)).toMatchObject({ status: 'cancelled', reason: 'enough' })
  expect(storyOf(place.home, id).sessions).toMatchObject([
    { id: 'plan', status: 'completed' },
    { id: 'work', status: 'failed', error: { code: 'instance_stopped' } },
  ])
}, 60_000)

test('without a key the error that a Python resolver gets has its code', async () => {
  const env = { RESOLVE_LLM_PROVIDER_API_KEY: '', RESOLVE_LLM_MODEL: 'anthropic/x' }
  const { stdout } = await place.with({ env }, 'run', 'python-sessions', '-i', 'task=x', '--json')
  const { instance_id: id, status } = JSON.parse(stdout) as { instance_id: string; status: string }
  expect(status).toBe('failed')
  expect(storyOf(place.home, id).completion?.error).toMatchObject({ code: 'sessions_missing' })
}, 60_000)
