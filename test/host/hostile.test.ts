/** Resolvers that do what they must not: each ends with a clear error or unharmed, and nothing is lost (threats B1–B3). */
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { identify } from '../../src/core/files/process-identity.ts'
import { listData, openData, readInstanceState } from '../../src/core/host/ingest/instance-files.ts'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { fixture } from '../support/fixtures.ts'
import { created, eventsOf, ranToEnd, storyOf, temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

let home: string
beforeAll(() => {
  home = temporaryHome()
})

const ACTOR = { actor: 'tester', via: 'cli' } as const

const rejections = (id: string) =>
  eventsOf(home, id)
    .filter(({ event }) => event.event_type === 'platform.event.rejected')
    .map(({ event }) => event.data['reason'])

test('forged, foreign, deep, long and broken lines are rejected with their reason; the lines between them are accepted (R16)', async () => {
  const { id, story } = await ranToEnd(home, fixture('forges-events'))
  expect(story.status).toBe('completed')
  // Rejected lines of one reason are one event if they were read together.
  const reasons = rejections(id).filter((reason, at, all) => reason !== all[at - 1])
  expect(reasons).toEqual([
    'platform_prefix',
    'done_marker',
    'foreign_instance',
    'not_an_object',
    'not_json',
    'too_long',
    'too_deep',
  ])
  const own = eventsOf(home, id).filter(({ event }) => event.event_type === 'forges-events.true')
  expect(own).toHaveLength(2)
  expect(own[1]?.event.data).toEqual({ separators: 'line\u2028and\u2029paragraph' })
  expect(story.history.map((change) => change.status)).toEqual(['created', 'starting', 'running', 'completed'])
})

// verifies: S-EVT-12 S-DIR-02
test('an event in pieces is one event, a torn line is rejected, an unfinished one at the end too (reliability F10)', async () => {
  const { id, story } = await ranToEnd(home, fixture('half-lines'))
  expect(story.status).toBe('completed')
  const own = eventsOf(home, id).filter(({ event }) => event.event_type.startsWith('half-lines.'))
  expect(own.map(({ event }) => event.event_type)).toEqual(['half-lines.whole', 'half-lines.after'])
  expect(own[0]?.event.data).toEqual({ text: 'žluťoučký 🐎' })
  expect(rejections(id)).toEqual(['not_json', 'unfinished'])
})

test('noise on stdout is ignored (R41)', async () => {
  const { story } = await ranToEnd(home, fixture('prints-noise'))
  expect(story).toMatchObject({ status: 'completed', output: 'made some noise' })
})

test('more than 1,000 lines of noise end the run as protocol_error (R41)', async () => {
  const { story } = await ranToEnd(home, fixture('floods-stdout'))
  expect(story).toMatchObject({ status: 'failed', error: { code: 'protocol_error' } })
})

test('links, FIFOs and directories planted in place of coordination files are not followed and block no reader (threats FS-1, FS-3, WR-1)', async () => {
  const secret = join(mkdtempSync(join(tmpdir(), 'resolve-secret-')), 'secret')
  writeFileSync(secret, 'canary-of-the-host')
  const id = await created(home, fixture('links-and-fifos'), { secret })
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await hosts.over(id)
  await hosts.close()
  const paths = instancePaths(home, id)
  expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: 'planted' })
  expect(() => readInstanceState(paths)).toThrow(/not a regular file/)
  for (const path of ['link', 'linked-directory/secret', 'environment', 'fifo']) {
    expect(() => openData(paths, path), path).toThrow(`There is no data file "${path}".`)
  }
  expect((await listData(paths)).map((file) => file.path)).toEqual(['real/file.txt'])
  expect(readFileSync(paths.journal, 'utf8')).not.toContain('canary-of-the-host')
  expect(existsSync(`${secret}.overwritten`)).toBe(false)
  expect(readFileSync(secret, 'utf8')).toBe('canary-of-the-host')
})

test('the host never writes through a planted response or message (threats WR-1)', async () => {
  const outside = join(mkdtempSync(join(tmpdir(), 'resolve-secret-')), 'target')
  writeFileSync(outside, 'untouched')
  const behaviour = `me.ask('q', '?'); fs.symlinkSync('${outside}', root + '/input-requests/q.response.json')
    while (fs.lstatSync(root + '/input-requests/q.response.json').isSymbolicLink()) await sleep(20)
    me.finish({ status: 'completed', output: fs.readFileSync(root + '/input-requests/q.response.json', 'utf8') })`
  const id = await created(home, plainResolver(behaviour))
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await until(home, id, (story) => story.status === 'awaiting_input')
  hosts.get(id)?.answer('q', { a: 1 }, ACTOR)
  await hosts.over(id)
  await hosts.close()
  expect(readFileSync(outside, 'utf8')).toBe('untouched')
})

test('a truncated or replaced events file is read from its new beginning, and the journal keeps its lines (threats FS-10)', async () => {
  const behaviour = `me.emit('plain.one'); me.emit('plain.two'); while (!fs.existsSync(root + '/go')) await sleep(20)
    fs.rmSync(root + '/events.jsonl'); me.emit('plain.three'); while (!fs.existsSync(root + '/go-on')) await sleep(20)
    me.emit('plain.four'); me.finish({ status: 'completed' })`
  const id = await created(home, plainResolver(behaviour))
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await until(home, id, () => eventsOf(home, id).some(({ event }) => event.event_type === 'plain.two'))
  writeFileSync(join(instancePaths(home, id).project, '.resolve/go'), '')
  await until(home, id, () => eventsOf(home, id).some(({ event }) => event.event_type === 'plain.three'))
  writeFileSync(join(instancePaths(home, id).project, '.resolve/go-on'), '')
  await hosts.over(id)
  await hosts.close()
  const types = eventsOf(home, id).map(({ event }) => event.event_type)
  expect(types.filter((type) => type.startsWith('plain.'))).toEqual([
    'plain.one',
    'plain.two',
    'plain.three',
    'plain.four',
  ])
  expect(rejections(id)).toEqual(['source_reset'])
})

test('a malformed question is refused, with every fault, and the run goes on (R30)', async () => {
  const { id, story } = await ranToEnd(home, fixture('bad-request'))
  expect(['completed', 'failed']).toContain(story.status)
  expect(rejections(id)).toContain('input_request')
})

test.each([
  'resolver.initialize',
  'resolver.run',
  'resolver.stop',
  'resolver.inputResponse',
  'resolver.message',
  'resolver.getMessageTypes',
])('a worker that dies at %s ends the instance, and the call with it', async (method) => {
  const input = { method, asks: method === 'resolver.inputResponse' }
  const id = await created(home, fixture('dies-at'), input)
  const hosts = new HostProcess(home)
  const host = await hosts.own(id)
  if (method !== 'resolver.initialize' && method !== 'resolver.run') {
    const asked = input.asks ? 'awaiting_input' : 'running'
    await until(home, id, (story) => story.status === asked)
    if (method === 'resolver.stop') host?.stop('stop', 'enough', false)
    if (method === 'resolver.inputResponse') {
      const rid = storyOf(home, id).requests[0]?.id as string
      host?.answer(rid, { name: 'x', answer: 'x', text: 'x' }, ACTOR)
    }
    if (method.includes('essage')) await expect(host?.message('note', { text: 'x' }, ACTOR)).rejects.toThrow()
  }
  if (method === 'resolver.message') host?.stop('stop', 'enough', false)
  await hosts.over(id)
  await hosts.close()
  const stopped = method === 'resolver.stop' || method === 'resolver.message'
  expect(storyOf(home, id).status).toBe(stopped ? 'cancelled' : 'failed')
  if (!stopped) expect(storyOf(home, id).error?.code).toBe('worker_exited')
})

test('grandchildren that outlive their worker are gone when the instance is completed (R20)', async () => {
  const { id, story } = await ranToEnd(home, fixture('grandchildren'), { finishes: true })
  expect(story.status).toBe('completed')
  const mark = `RESOLVE_DIR=${instancePaths(home, id).project}/.resolve`
  const { processesOf } = await import('../../src/core/worker/local/process-tree.ts')
  expect(processesOf({ leader: 0, variable: mark })).toEqual([])
})

test.runIf(process.platform === 'linux')(
  'a process that left session, environment and parent behind is ended with its run, and told',
  async () => {
    // Through a process that ends, and without an environment.
    const inner = `const c = require('node:child_process').spawn('sleep', ['60'], { detached: true, stdio: 'ignore', env: {} }); c.unref(); process.stdout.write(String(c.pid))`
    const behaviour = `const { execFileSync } = await import('node:child_process')
      me.finish({ status: 'completed', output: String(execFileSync(process.execPath, ['-e', ${JSON.stringify(inner)}])) })`
    const { id, story } = await ranToEnd(home, plainResolver(behaviour))
    expect(story.status).toBe('completed')
    expect(identify(Number(story.output))).toBeUndefined()
    const warnings = eventsOf(home, id).filter(({ event }) => event.event_type === 'platform.watchdog.warning')
    expect(warnings.map(({ event }) => event.data)).toEqual([{ kind: 'escaped', value: 1, limit: 0 }])
  },
)
