/** `resolve instance explain`: why an instance stands where it does, and what to run next. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import type { Explanation } from '../../src/terminal/pages/explain.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { doer, type Home, newHome } from './cli.ts'

let place: Home

beforeAll(async () => {
  place = newHome()
  const noisy = plainResolver(
    `me.emit('resolver:phase', { name: 'digging' })
     console.error('first words\\nthe shovel broke\\u001b[31m')
     me.fs.appendFileSync(root + '/events.jsonl', 'no json at all\\n')
     await sleep(100)
     process.exit(3)`,
    { name: 'noisy' },
  )
  for (const dir of [doer(), noisy.dir]) expect((await place.run('resolver', 'add', dir)).code).toBe(0)
})

afterAll(() => place.end())

async function explained(id: string): Promise<{ told: Explanation; text: string }> {
  const [json, person] = await Promise.all([
    place.run('instance', 'explain', id, '--json'),
    place.run('instance', 'explain', id),
  ])
  expect([json.code, person.code]).toEqual([0, 0])
  return { told: JSON.parse(json.stdout) as Explanation, text: person.stdout }
}

async function made(...args: string[]): Promise<string> {
  const { stdout } = await place.run('run', ...args, '--json')
  return (JSON.parse(stdout) as { instance_id: string }).instance_id
}

test('a dead worker is explained by its phase, exit code, last stderr lines, rejected lines and the command that runs it again', async () => {
  const { told, text } = await explained(await made('noisy'))
  expect(told).toMatchObject({ schema: 'resolve.explanation/1', status: 'failed', phase: 'digging', host_alive: false })
  expect(told.error?.code).toBe('worker_exited')
  expect(told.worker_end).toBe('It ended without a result (worker_exited).')
  expect(told.failing_event?.event_type).toBe('platform.instance.status_changed')
  expect(told.stderr).toEqual(['first words', 'the shovel broke\u001b[31m'])
  expect(told.rejected).toMatchObject({ count: 1, last: [{ bytes: 15 }] })
  expect(told.next).toContain('resolve run noisy')
  expect(text).toContain('  the shovel broke\n')
  expect(text).not.toContain('\u001b')
  expect(text).toContain('  phase     digging\n')
})

test('a failed resolver is explained by its own error', async () => {
  const { told } = await explained(await made('doer', '-i', 'do=fail'))
  expect(told.error).toMatchObject({ code: 'resolver_failed' })
  expect(told.why).toMatch(/^It failed: It broke/)
  expect(told.worker_end).toMatch(/^It ended/)
  expect(told.next).toContain('resolve run doer -i do=fail')
})

test('an open question is explained by its prompt and the command that answers it', async () => {
  const id = await made('doer', '-i', 'do=ask')
  const { told, text } = await explained(id)
  expect(told.why).toBe('It waits for an answer.')
  expect(told.questions).toMatchObject([{ request_id: 'gate-1', prompt: 'Go on?' }])
  expect(told.next).toEqual([told.questions[0]?.command])
  expect(told.failing_event).toBeNull()
  expect(text).toMatch(/gate-1, asked .*: Go on\?/)
})

test('a paused instance is explained with the command that resumes it', async () => {
  const id = await made('doer', '-i', 'do=pause')
  const { told } = await explained(id)
  expect(told).toMatchObject({ status: 'paused', worker_end: 'It ended at its checkpoint.' })
  expect(told.next[0]).toBe(`resolve instance resume ${id}`)
})

test('a running instance is explained by its duration and whether it has a host; explaining starts no host', async () => {
  const { stdout } = await place.run('run', 'doer', '-i', 'do=sleep', '--detach')
  const id = stdout.trim()
  await place.reaches(id, 'running')
  const alive = await explained(id)
  expect(alive.told.host_alive).toBe(true)
  expect(alive.told.why).toMatch(/^It has been running for .* s; its last event came /)
  const owner = readOwner(instancePaths(place.home, id).owners)
  process.kill(owner?.process.pid ?? 0, 'SIGKILL')
  await expect.poll(async () => (await explained(id)).told.host_alive).toBe(false)
  const { told } = await explained(id)
  expect(told.why).toMatch(/It has no host\.$/)
  expect(told.next[0]).toBe(`resolve instance watch ${id}`)
})
