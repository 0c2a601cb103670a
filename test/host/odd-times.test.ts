/** Hosts that are frozen, clocks that jump, machines that start anew, lines that come byte by byte (reliability F3, F8, F10, F23). */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { installedFile } from '../../src/core/files/installation.ts'
import { upMs } from '../../src/core/host/lifecycle/lifetime.ts'
import { LineSplitter } from '../../src/core/rpc/lines.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { root } from '../house/source-files.ts'
import { created, eventsOf, ranToEnd, storyOf, temporaryHome, until } from '../support/instances.ts'
import { soundInstance } from '../support/invariants.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { askOwner } from '../support/platforms.ts'

let home: string
beforeAll(() => {
  home = temporaryHome()
})

/** How long a host is frozen; the long form of the soak takes a minute. */
const FROZEN_MS = Number(process.env['FROZEN_MS'] ?? 3_000)

function startHost(id: string, env: Record<string, string> = {}): ChildProcess {
  const program = installedFile('host.js') as string
  return spawn(process.execPath, [program, home, id], { stdio: 'inherit', env: { ...process.env, ...env } })
}

/** Every thread of it stands still. */
function isFrozen(pid: number): boolean {
  const threads = readdirSync(`/proc/${pid}/task`)
  return threads.every((thread) => / T /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1')))
}

test('a host that is frozen keeps its instance: no other takes it, the worker works on, and nothing is missing (reliability F3)', {
  timeout: FROZEN_MS + 90_000,
}, async () => {
  const count = Math.ceil(FROZEN_MS / 10)
  const id = await created(
    home,
    plainResolver(
      `for (let n = 0; n < ${count}; n += 1) { me.emit('plain.tick', { n }); await sleep(5) }
       print('x'.repeat(2_000_000) + '\\n'); me.finish({ status: 'completed', output: 'thawed' })`,
    ),
  )
  const host = startHost(id)
  const gone = once(host, 'exit')
  await until(home, id, (story) => story.status === 'running')
  host.kill('SIGSTOP')
  // The signal is sent, and the process may still be in the middle of a write.
  await expect.poll(() => isFrozen(host.pid as number)).toBe(true)
  const before = storyOf(home, id).lastSeq
  const other = startHost(id)
  await sleep(FROZEN_MS)
  expect(storyOf(home, id).lastSeq).toBe(before)
  host.kill('SIGCONT')
  await gone
  other.kill()
  expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: 'thawed', adoptions: 0 })
  expect(eventsOf(home, id).filter(({ event }) => event.event_type === 'plain.tick')).toHaveLength(count)
  soundInstance(home, id)
})

test('events keep the order of arrival whatever their timestamps say; a clock that was set back counts as stopped (reliability F8)', async () => {
  const day = 24 * 60 * 60_000
  const behaviour = `
    for (const jump of [0, ${day}, ${-day}, 0, ${day}]) {
      const timestamp = new Date(Date.now() + jump).toISOString()
      const event = { schema_version: 1, event_type: 'plain.jump', instance_id: me.config.instance_id, data: { jump }, timestamp }
      fs.appendFileSync(root + '/events.jsonl', JSON.stringify(event) + '\\n')
    }
    me.finish({ status: 'completed' })`
  const { id, story } = await ranToEnd(home, plainResolver(behaviour))
  const jumps = eventsOf(home, id).filter(({ event }) => event.event_type === 'plain.jump')
  expect(jumps.map(({ event }) => event.data['jump'])).toEqual([0, day, -day, 0, day])
  soundInstance(home, id)
  const running = story.history.slice(0, 3)
  const since = Date.parse(running[1]?.at as string)
  expect(upMs({ ...story, history: running }, since - day)).toBeLessThan(60_000)
  expect(upMs({ ...story, history: running }, since + 10_000)).toBeLessThanOrEqual(10_000)
})

test('what a resolver wrote before it asked stands before its question, however slow its host is', async () => {
  const count = 5
  const id = await created(
    home,
    plainResolver(`
      for (let n = 0; n < ${count}; n += 1) { me.emit('plain.before', { n }); void me.ask('q' + n, '?'); await sleep(40) }
      await me.stopped; me.finish({ status: 'cancelled' })`),
  )
  // Between its two looks, at the requests and at the events.
  const host = startHost(id, { RESOLVE_FAILPOINTS: 'request.listed=sleep:50' })
  const gone = once(host, 'exit')
  await until(home, id, (story) => story.requests.length === count)
  await askOwner(home, id, (owner) => owner.stop(id, { reason: 'enough' }))
  await gone
  const marks = eventsOf(home, id).flatMap(({ event: { event_type: type, data } }) => {
    if (type === 'plain.before') return [`wrote ${data['n']}`]
    return type === 'platform.input.requested' ? [`asked ${String(data['request_id']).slice(1)}`] : []
  })
  for (let n = 0; n < count; n += 1) expect(marks.indexOf(`wrote ${n}`)).toBeLessThan(marks.indexOf(`asked ${n}`))
})

test('after a reboot the workers count as gone, and a foreign process with the pid of one is not signalled (reliability F23)', async () => {
  const id = await created(home, plainResolver(`await sleep(600_000)`))
  const host = startHost(id)
  const gone = once(host, 'exit')
  await until(home, id, (story) => story.status === 'running')
  host.kill('SIGKILL')
  await gone
  const { worker } = instancePaths(home, id)
  const saved = JSON.parse(readFileSync(worker, 'utf8')) as { process: { pid: number; bootId: string } }
  process.kill(-saved.process.pid, 'SIGKILL')
  const stranger = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' })
  const process_ = { ...saved.process, pid: stranger.pid, bootId: '00000000-0000-0000-0000-000000000000' }
  writeFileSync(worker, JSON.stringify({ ...saved, process: process_ }))
  const next = startHost(id)
  await once(next, 'exit')
  expect(storyOf(home, id)).toMatchObject({ status: 'failed', error: { code: 'worker_exited' } })
  expect(stranger.exitCode ?? stranger.signalCode).toBeNull()
  stranger.kill()
  soundInstance(home, id)
})

test('lines are read the same wherever the byte stream is cut (reliability F10)', () => {
  const text = Buffer.from('{"a":"é"}\n\n{"b":"𝄞"}\r\nlast\n', 'utf8')
  const linesOf = (...chunks: Buffer[]) => {
    const splitter = new LineSplitter(1_000)
    return chunks.flatMap((chunk) => [...splitter.push(chunk)].map((line) => line.bytes?.toString('utf8')))
  }
  const whole = linesOf(text)
  expect(whole).toEqual(['{"a":"é"}', '', '{"b":"𝄞"}\r', 'last'])
  for (let cut = 0; cut <= text.length; cut += 1) {
    expect([cut, linesOf(text.subarray(0, cut), text.subarray(cut))]).toEqual([cut, whole])
  }
  expect(linesOf(...Array.from(text, (byte) => Buffer.from([byte])))).toEqual(whole)
})

test.runIf(process.platform === 'linux')(
  'a host without free file descriptors at the end of a run reads the result once it has some',
  {
    timeout: 90_000,
  },
  async () => {
    const id = await created(
      home,
      plainResolver(`while (!fs.existsSync(root + '/go-on')) await sleep(20)
        await sleep(200); me.finish({ status: 'completed', output: 'all the same' }); process.exit(0)`),
    )
    const program = `
    const { openSync, closeSync, readFileSync, writeFileSync } = await import('node:fs')
    const { join } = await import('node:path')
    const { openLocalPlatform } = await import(${JSON.stringify(join(root, 'dist/core/index.js'))})
    const [home, id] = process.argv.slice(1)
    const platform = await openLocalPlatform({ home })
    const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
    await platform.host(id)
    while ((await platform.record(id)).status !== 'running') await rest(20)
    const directory = join(home, 'instances', id)
    const { pid } = JSON.parse(readFileSync(join(directory, 'worker.json'), 'utf8')).process
    writeFileSync(join(directory, 'project/.resolve/go-on'), '')
    const opened = []
    try { for (;;) opened.push(openSync('/dev/null')) } catch {}
    // It needs no file to see that the worker is gone.
    const isThere = () => { try { return process.kill(pid, 0) } catch { return false } }
    while (isThere()) await rest(20)
    // Time for a look of the host that can open nothing.
    await rest(2_500)
    for (const fd of opened) closeSync(fd)
    while (platform.hosted().includes(id)) await rest(20)
    process.exit()`
    const words = [process.execPath, '--input-type=module', '-e', program, home, id]
    const host = spawn('/bin/sh', ['-c', 'ulimit -n 128; exec "$@"', 'sh', ...words], { stdio: 'inherit' })
    await once(host, 'exit')
    expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: 'all the same' })
  },
)
