/** Attacks that once worked: each leaves an instance that can be read, stopped and ended, and harms no other. */
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test, vi } from 'vitest'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import { readRecord } from '../../src/core/store/record.ts'
import { processesOf } from '../../src/core/worker/local/process-tree.ts'
import { created, eventsOf, ranToEnd, storyOf, temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { askOwner, platformOn } from '../support/platforms.ts'

let home: string
beforeAll(() => {
  home = temporaryHome()
})

const ACTOR = { actor: 'tester', via: 'cli' } as const
const stay = 'await me.stopped; me.finish({ status: "cancelled" })'

async function hosted(behaviour: string, setup = '') {
  const id = await created(home, plainResolver(behaviour, {}, setup))
  const hosts = new HostProcess(home)
  const host = await hosts.own(id)
  await until(home, id, (story) => story.lastSeq > 3)
  return { id, hosts, host: host!, paths: instancePaths(home, id) }
}

test('event types named like properties of every JavaScript object are events like any other', async () => {
  const types = ['__proto__', 'constructor', 'hasOwnProperty', 'toString']
  const emits = types.map((type) => `me.emit(${JSON.stringify(type)}, {});`).join(' ')
  const { id, story } = await ranToEnd(home, plainResolver(`${emits} me.finish({ status: 'completed' })`))
  expect(story.status).toBe('completed')
  expect(eventsOf(home, id).map(({ event }) => event.event_type)).toEqual(expect.arrayContaining(types))
})

test('a directory in the place of a response is reported, and the run goes on and can be stopped', async () => {
  const { id, hosts, host } = await hosted(
    `fs.mkdirSync(root + '/input-requests/q.response.json', { recursive: true }); me.ask('q', '?'); me.ask('r', '?'); ${stay}`,
  )
  const story = await until(home, id, (now) => now.requests.length > 0)
  expect(story.requests.map((request) => request.id)).toEqual(['r'])
  host.stop('stop', 'enough', false)
  await hosts.over(id)
  await hosts.close()
  expect(storyOf(home, id).status).toBe('cancelled')
  expect(JSON.stringify(eventsOf(home, id))).toContain('coordination_tampered')
})

test.each([
  [
    '.resolve replaced by a link',
    `fs.renameSync(root, root + '2'); fs.symlinkSync('/tmp', root)`,
    (root: string) => lstatSync(join(root, 'project/.resolve')).isSymbolicLink(),
  ],
  ['its FIFO removed', `fs.rmSync(root + '/../../stdin')`, (root: string) => !existsSync(join(root, 'stdin'))],
])('%s: the next host ends the instance and its worker', async (_, deed, isDone) => {
  const { id, hosts, paths } = await hosted(`me.emit('plain.up'); await sleep(200); ${deed}; await sleep(600000)`)
  await vi.waitFor(() => expect(isDone(paths.root)).toBe(true), { timeout: 30_000 })
  hosts.release(id)
  await hosts.close()
  const next = new HostProcess(home)
  await next.own(id)
  await next.over(id)
  await next.close()
  expect(storyOf(home, id)).toMatchObject({ status: 'failed', error: { code: 'coordination_tampered' } })
  expect(processesOf({ leader: 0, variable: `RESOLVE_DIR=${paths.project}/.resolve` })).toEqual([])
})

test('a workspace replaced by a file is the affair of its resolver: the next host goes on with the run', async () => {
  const deed = `fs.rmSync(root + '/../workspace', { recursive: true }); fs.writeFileSync(root + '/../workspace', '')`
  const { id, hosts, paths } = await hosted(`${deed}; me.emit('plain.up'); ${stay}`)
  await vi.waitFor(() => expect(lstatSync(join(paths.root, 'project/workspace')).isFile()).toBe(true), {
    timeout: 10_000,
  })
  hosts.release(id)
  await hosts.close()
  const next = new HostProcess(home)
  const host = await next.own(id)
  await until(home, id, () => JSON.stringify(eventsOf(home, id)).includes('platform.worker.adopted'))
  expect(storyOf(home, id).status).toBe('running')
  host?.stop('stop', 'enough', false)
  await next.over(id)
  await next.close()
  expect(storyOf(home, id).status).toBe('cancelled')
})

test('an error reply of a resolver cannot pose as an error of the platform, and does not break the host', async () => {
  const forged = `me.on['resolver.getMessageTypes'] = () => undefined
    process.stdin.on('data', (bytes) => { for (const line of String(bytes).split('\\n')) { if (!line.includes('getMessageTypes')) continue
      print(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, error: { code: 1, message: 'm', data: { resolve_error: 'form_malformed', details: {} } } }) + '\\n') } })`
  const { id, hosts, host } = await hosted(stay, forged)
  await expect(host.message('note', {}, ACTOR)).rejects.toMatchObject({ code: 'resolver_refused' })
  host.stop('stop', 'enough', false)
  await hosts.over(id)
  await hosts.close()
})

test('a flood of doorbells and one event of 130,000 paths leave the host answering', { timeout: 90_000 }, async () => {
  const { id, hosts, host } = await hosted(
    `const paths = []; for (let n = 0; n < 130000; n += 1) paths.push(n.toString(36)); me.emit('x.data_changed', { paths })
     fs.writeFileSync(root + '/status.json', JSON.stringify({ status: 'busy', pad: 'x'.repeat(900000) }))
     const bell = JSON.stringify({ jsonrpc: '2.0', method: 'resolver.event', params: { offset: 1 } }) + '\\n'
     for (let n = 0; n < 120; n += 1) print(bell.repeat(1000)); ${stay}`,
  )
  await until(home, id, (story) => story.changedData.length > 0)
  const began = Date.now()
  host.stop('stop', 'enough', true)
  await hosts.over(id)
  await hosts.close()
  expect(Date.now() - began).toBeLessThan(10_000)
  expect(storyOf(home, id).changedData).toHaveLength(1_000)
})

test('a host that finds another one writing stops, and overwrites nothing', async () => {
  const { id, hosts, host, paths } = await hosted(stay)
  const foreign = `${storyOf(home, id).lastSeq + 1}\t-\t{"event_type":"platform.worker.adopted","data":{},"timestamp":"2026-01-01T00:00:00.000Z"}\n`
  appendFileSync(paths.journal, foreign)
  expect(() => host.stop('stop', 'enough', false)).toThrow(expect.objectContaining({ code: 'ownership_lost' }))
  await hosts.over(id)
  expect(readFileSync(paths.journal, 'utf8').endsWith(foreign)).toBe(true)
  await hosts.close()
  const next = new HostProcess(home)
  const owner = await next.own(id)
  owner?.stop('stop', 'enough', false)
  await next.over(id)
  await next.close()
  expect(storyOf(home, id).status).toBe('cancelled')
})

test('a host whose socket was removed listens on a new one, and is reachable again', async () => {
  const id = await created(home, plainResolver(stay))
  const paths = instancePaths(home, id)
  const platform = await platformOn(home)
  expect(await platform.host(id)).toBe(true)
  await until(home, id, (story) => story.status === 'running')
  const before = readOwner(paths.owners)
  rmSync(before?.socket ?? '')
  await expect.poll(() => readOwner(paths.owners)?.socket).not.toBe(before?.socket)
  expect(existsSync(readOwner(paths.owners)?.socket ?? '')).toBe(true)
  await askOwner(home, id, (owner) => owner.stop(id, { reason: 'enough' }))
  await platform.over(id)
  await platform.close()
  expect(storyOf(home, id).status).toBe('cancelled')
})

test('a flipped byte in the journal loses only the lines after it', async () => {
  const { id } = await ranToEnd(home, plainResolver(`me.emit('a.b'); me.finish({ status: 'completed' })`))
  const { journal } = instancePaths(home, id)
  const lines = readFileSync(journal, 'utf8').split('\n')
  const fifth = lines.findIndex((line) => line.startsWith('5\t'))
  lines[fifth] = (lines[fifth] ?? '').replace('"data"', 'data"')
  writeFileSync(journal, lines.join('\n'))
  expect(() => storyOf(home, id)).toThrow(/line 5 holds no event/)
  const next = new HostProcess(home)
  await next.own(id)
  await next.over(id)
  await next.close()
  expect(storyOf(home, id).lastSeq).toBeGreaterThanOrEqual(4)
  expect(readdirSync(join(journal, '..')).some((name) => name.startsWith('journal.frozen'))).toBe(true)
})

test.each(['null', '[]', '{}', '5', '{"record":{"status":"completed"}}', '{"journal_bytes":3,"record":'])(
  'a record.json that holds %s is ignored',
  async (text) => {
    const { id } = await ranToEnd(home, plainResolver(`me.finish({ status: 'completed', output: 'true story' })`))
    const paths = instancePaths(home, id)
    writeFileSync(paths.record, text)
    expect(readRecord(paths)).toMatchObject({ instance_id: id, status: 'completed', output: 'true story' })
  },
)

test('a pid read from worker.json never leads to a signal for a foreign process or its session (I9)', async () => {
  const leader = spawn('setsid', ['bash', '-c', 'echo $$; sleep 60 & exit 0'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const session = await new Promise<number>((resolve) =>
    leader.stdout.once('data', (bytes) => resolve(Number(String(bytes)))),
  )
  const { id, hosts, paths } = await hosted('await sleep(600000)')
  const worker = JSON.parse(readFileSync(paths.worker, 'utf8'))
  hosts.release(id)
  process.kill(worker.process.pid, 'SIGKILL')
  writeFileSync(
    paths.worker,
    JSON.stringify({ ...worker, process: { pid: session, startTime: '1', bootId: 'another' } }),
  )
  await hosts.own(id)
  await hosts.over(id)
  await hosts.close()
  const members = processesOf({ leader: session })
  expect(members).toHaveLength(1)
  for (const pid of members) process.kill(pid, 'SIGKILL')
})
