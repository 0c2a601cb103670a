/** Real signals: in CI they stop the instance and the document is out within 7 s, elsewhere they leave it running. */
import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fixture } from '../support/fixtures.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { doer, type Home, lastLine, newHome } from './cli.ts'

/** It reads the request for its form and never answers. */
const silent = plainResolver('', { name: 'silent' }, `me.on['resolver.getInstantiationSchema'] = () => undefined`)

let place: Home

beforeAll(async () => {
  place = newHome()
  for (const source of [doer(), fixture('ignores-stop').dir, silent.dir])
    expect((await place.run('resolver', 'add', source, '--no-check')).code).toBe(0)
})

afterAll(() => place.end())

interface Shown {
  status: string
  exit_code: number
  next: string[]
}

/** The status that `show` tells of the newest instance. */
async function statusNow(): Promise<string> {
  const { stdout } = await place.run('instance', 'show', '@last', '--json')
  return (JSON.parse(stdout) as Shown).status
}

const CI_LIMIT_MS = 7_000

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  return rows.filter(([, parent]) => parent === pid).map(([child = 0]) => child)
}

test.each([
  ['SIGINT', 130, 'ignores-stop', 'ignores-stop.working'],
  ['SIGTERM', 143, 'ignores-stop', 'ignores-stop.working'],
] as const)(
  'in CI %s ends with %i within 7 s, also of %s, which does not stop',
  { timeout: 40_000 },
  async (signal, code, resolver, working) => {
    const run = place.start({ CI: 'true' }, 'run', resolver, '--jsonl')
    await run.said(working)
    const began = Date.now()
    run.kill(signal)
    const { code: ended, stdout } = await run.ended
    const took = Date.now() - began
    expect(took).toBeLessThan(CI_LIMIT_MS)
    expect(ended).toBe(code)
    const closing = lastLine(stdout)
    const instance = closing['instance'] as Shown
    // The document tells the truth: what it says is what stands afterwards.
    expect([closing['type'], instance.status, instance.exit_code]).toEqual(['done', 'cancelled', code])
    expect(await statusNow()).toBe('cancelled')
  },
)

test('in CI --json prints one document within 7 s of SIGINT', { timeout: 40_000 }, async () => {
  const run = place.start({ CI: '1' }, 'run', 'ignores-stop', '--json')
  // Nothing is said under --json before the end.
  const isWorking = async () => {
    const { stdout } = await place.run('instance', 'list', '--status', 'running', '--json')
    return stdout.includes('"ignores-stop"')
  }
  while (!(await isWorking())) await sleep(50)
  const began = Date.now()
  run.kill('SIGINT')
  const { code, stdout } = await run.ended
  expect(Date.now() - began).toBeLessThan(CI_LIMIT_MS)
  expect(code).toBe(130)
  expect((JSON.parse(stdout) as Shown).status).toBe('cancelled')
})

test('a signal before the instance runs ends with one document', { timeout: 40_000 }, async () => {
  const run = place.start({ CI: '1' }, 'run', 'silent', '--json')
  // It waits once the resolver's process is there.
  await expect.poll(() => childrenOf(run.pid)).not.toEqual([])
  const began = Date.now()
  run.kill('SIGTERM')
  const { code, stdout, stderr } = await run.ended
  expect(Date.now() - began).toBeLessThan(CI_LIMIT_MS)
  expect(code).toBe(143)
  expect(JSON.parse(stdout)).toMatchObject({ exit_code: 143, error: { code: 'interrupted' } })
  expect(stderr).toBe('✗ Interrupted by SIGTERM before the instance ran.\n')
})

test('in CI a second signal stops the instance by force at once', { timeout: 40_000 }, async () => {
  const run = place.start({ CI: '1' }, 'run', 'ignores-stop', '--jsonl')
  await run.said('ignores-stop.working')
  const began = Date.now()
  run.kill('SIGINT')
  await run.said('a second signal forces it')
  run.kill('SIGTERM')
  const { code, stdout } = await run.ended
  expect(Date.now() - began).toBeLessThan(3_500)
  expect([code, (lastLine(stdout)['instance'] as Shown).status]).toEqual([130, 'cancelled'])
})

test.each([
  ['SIGHUP', 129, 'hangup'],
  ['SIGINT', 130, 'interrupted'],
  ['SIGTERM', 143, 'terminated'],
] as const)('outside CI %s ends the command with %i, and the instance goes on', async (signal, code, reason) => {
  const run = place.start({}, 'run', 'doer', '-i', 'do=sleep', '--jsonl')
  await run.said('"to":"running"')
  run.kill(signal)
  const { code: ended, stdout } = await run.ended
  const closing = lastLine(stdout)
  const instance = closing['instance'] as Shown
  expect([ended, closing['type'], closing['reason'], instance.status]).toEqual([code, 'left', reason, 'running'])
  expect(instance.next.some((command) => command.startsWith('resolve instance watch'))).toBe(true)
  expect(await statusNow()).toBe('running')
  expect((await place.run('instance', 'stop', '@last')).code).toBe(0)
})

test('in CI SIGHUP ends only the command, and a signal to watch never stops the instance', async () => {
  const run = place.start({ CI: '1' }, 'run', 'doer', '-i', 'do=sleep', '--jsonl')
  await run.said('"to":"running"')
  run.kill('SIGHUP')
  expect((await run.ended).code).toBe(129)
  const watch = place.start({ CI: '1' }, 'watch', '@last', '--jsonl')
  await watch.said('"to":"running"')
  watch.kill('SIGINT')
  expect((await watch.ended).code).toBe(130)
  expect(await statusNow()).toBe('running')
  expect((await place.run('instance', 'stop', '@last')).code).toBe(0)
})
