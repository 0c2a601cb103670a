/** Schedules (R72): with a given clock in processes that are killed, and with two real servers of one home. */
import { spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Cron } from 'croner'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { hasHost } from '../../src/core/host/process/reach.ts'
import { type InstanceRecord, type Schedule, type ScheduleNews, ScheduleRunner } from '../../src/core/index.ts'
import { dueBetween, nextDue } from '../../src/core/schedule/due-times.ts'
import { type Home, newHome } from '../commands/cli.ts'
import { client, type ServeProcess, startServe } from '../commands/serving.ts'
import { countReads } from '../support/file-reads.ts'
import { plainResolver } from '../support/plain-resolver.ts'

let place: Home
const running: ServeProcess[] = []

const FORM = {
  type: 'form',
  components: [
    {
      id: 'do',
      type: 'text',
      checks: [{ condition: { call: 'required', args: [{ path: '/do' }] }, message: 'Say what to do.' }],
    },
    { id: 'key', type: 'text', secret: true },
  ],
}

beforeEach(async () => {
  place = newHome()
  const resolver = plainResolver(
    `if (me.params.do === 'ask') await me.ask('gate', 'Go on?')
     me.finish({ status: 'completed', output: 'did ' + me.params.do })`,
    { name: 'works' },
    `me.on['resolver.getInstantiationSchema'] = () => (${JSON.stringify(FORM)})`,
  )
  expect(await place.run('resolver', 'add', resolver.dir)).toMatchObject({ code: 0 })
})

afterEach(async () => {
  for (const one of running.splice(0)) {
    one.kill('SIGKILL')
    await one.ended
  }
  await place.end()
})

interface Look {
  news: ScheduleNews[]
  code: number | null
  signal: string | null
  stderr: string
}

/** One look of one process at this time. */
async function look(time: string, env: Record<string, string> = {}): Promise<Look> {
  const program = join(import.meta.dirname, '../support/schedule-program.ts')
  const child = spawn(process.execPath, [program, place.home, time], { env: { ...process.env, ...env } })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (bytes) => {
    stdout += bytes
  })
  child.stderr.on('data', (bytes) => {
    stderr += bytes
  })
  const [code, signal] = await new Promise<[number | null, string | null]>((done) =>
    child.once('close', (...how) => done(how)),
  )
  const news = stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as ScheduleNews]))
  return { news, code, signal, stderr }
}

/** Adds one, and lets it begin at a given time. */
async function add(since: string, cron: string, ...args: string[]): Promise<Schedule> {
  const { code, stdout, stderr } = await place.run(
    'schedule',
    'add',
    cron,
    'works',
    '--timezone',
    'UTC',
    ...args,
    '--json',
  )
  expect(code, stderr).toBe(0)
  const path = join(place.home, 'schedules.json')
  const whole = JSON.parse(readFileSync(path, 'utf8')) as { schedules: { handled_until: string }[] }
  for (const one of whole.schedules) one.handled_until = since
  writeFileSync(path, JSON.stringify(whole))
  return (JSON.parse(stdout) as { schedule: Schedule }).schedule
}

const listed = async () =>
  (JSON.parse((await place.run('schedule', 'list', '--json')).stdout) as { schedules: Schedule[] }).schedules

const instances = async () =>
  (JSON.parse((await place.run('instance', 'list', '--all', '--json')).stdout) as { instances: InstanceRecord[] })
    .instances

test('due times follow the clock of their zone, also on the days when it changes (R72)', () => {
  const times = (cron: string, zone: string, from: string, count: number) => {
    const found: string[] = []
    let at = new Date(from)
    for (let n = 0; n < count; n += 1) {
      at = nextDue(cron, zone, at) as Date
      found.push(at.toISOString().slice(0, 16))
    }
    return found
  }
  expect(times('0 7 * * 1-5', 'Europe/Berlin', '2026-03-27T12:00:00Z', 2)).toEqual([
    '2026-03-30T05:00',
    '2026-03-31T05:00',
  ])
  expect(times('0 7 * * 1-5', 'America/New_York', '2026-10-30T20:00:00Z', 2)).toEqual([
    '2026-11-02T12:00',
    '2026-11-03T12:00',
  ])
  // 02:30 does not exist on 29 March: it is due when the hour has been skipped. On 25 October it exists twice: it is due once.
  expect(times('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual([
    '2026-03-29T01:00',
    '2026-03-30T00:30',
  ])
  expect(times('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
    '2026-10-25T00:30',
    '2026-10-26T01:30',
  ])
  // Every hour is every hour.
  expect(times('0 * * * *', 'Europe/Berlin', '2026-10-24T23:30:00Z', 3)).toEqual([
    ...['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00'],
  ])
  expect(
    dueBetween('* * * * *', 'UTC', new Date('2026-01-01T00:00:00Z'), new Date('2026-01-01T00:03:30Z')),
  ).toMatchObject({
    count: 3,
  })
  const year = dueBetween('* * * * *', 'UTC', new Date('2026-01-01T00:00:00Z'), new Date('2027-01-01T00:00:30Z'))
  expect(year.times.map((one) => one.toISOString())).toEqual(['2027-01-01T00:00:00.000Z'])
})

test('an instance is created at its due time, once, and carries where it came from (R72)', {
  timeout: 90_000,
}, async () => {
  const { id } = await add(
    '2026-05-04T06:59:00.000Z',
    '0 7 * * 1-5',
    '-i',
    'do=this',
    '--name',
    'morning',
    '--budget-usd',
    '0.75',
  )
  expect((await look('2026-05-04T06:59:59Z')).news).toEqual([])
  const { news } = await look('2026-05-04T07:00:01Z')
  expect(news).toMatchObject([
    { schedule: 'morning', outcome: 'started', due_at: '2026-05-04T07:00:00.000Z', count: 1 },
  ])
  expect((await look('2026-05-04T07:00:02Z')).news).toEqual([])
  const [instance, ...others] = await instances()
  expect(others).toEqual([])
  expect(instance).toMatchObject({
    ...{ instance_id: news[0]?.instance_id, name: 'morning', input: { do: 'this' } },
    schedule: { id, name: 'morning', due_at: '2026-05-04T07:00:00.000Z' },
    budget_usd: 0.75,
  })
  expect((await place.run('instance', 'show', instance?.instance_id ?? '')).stdout).toContain('schedule  morning, due ')
  expect(await listed()).toMatchObject([{ started: 1, missed: 0, last: { outcome: 'started' }, paused: false }])
})

test('due times without a server are missed and told once; --catch-up one runs the last of them (R72)', {
  timeout: 90_000,
}, async () => {
  await add('2026-05-04T06:00:00.000Z', '0 7 * * *', '-i', 'do=this', '--name', 'plain')
  await add('2026-05-04T06:00:00.000Z', '0 7 * * *', '-i', 'do=late', '--name', 'late', '--catch-up', 'one')
  const { news } = await look('2026-05-06T12:00:00Z')
  expect(news).toMatchObject([
    { schedule: 'plain', outcome: 'missed', count: 3, due_at: '2026-05-06T07:00:00.000Z' },
    { schedule: 'late', outcome: 'missed', count: 2, due_at: '2026-05-05T07:00:00.000Z' },
    { schedule: 'late', outcome: 'started', due_at: '2026-05-06T07:00:00.000Z' },
  ])
  expect((await look('2026-05-06T12:00:01Z')).news).toEqual([])
  expect((await instances()).map(({ input }) => input)).toEqual([{ do: 'late' }])
  expect(await listed()).toMatchObject([
    { missed: 3, started: 0, last: { outcome: 'missed' } },
    { missed: 2, started: 1, last: { outcome: 'started' } },
  ])
  expect((await place.run('schedule', 'list')).stdout).toMatch(/plain.*missed: No server ran at that time\. +3/)
})

test('a due time is skipped while the instance before has not ended, and told (R72)', { timeout: 90_000 }, async () => {
  await add('2026-05-04T06:59:00.000Z', '0 * * * *', '-i', 'do=ask', '--name', 'hourly')
  const [first] = (await look('2026-05-04T07:00:01Z')).news
  expect((await look('2026-05-04T08:00:01Z')).news).toMatchObject([
    { outcome: 'skipped', detail: expect.stringContaining(first?.instance_id ?? '-') },
  ])
  expect((await place.run('instance', 'stop', first?.instance_id ?? '', '--force')).code).toBe(0)
  expect((await look('2026-05-04T09:00:01Z')).news).toMatchObject([{ outcome: 'started' }])
  expect(await listed()).toMatchObject([{ started: 2, skipped: 1 }])
})

for (const step of [
  'schedule.claimed',
  'creation.written',
  'creation.renamed',
  'schedule.created',
  'schedule.recorded',
] as const) {
  test(`killed at ${step}, the next server creates the same instance or finds it: one for the due time (R72)`, {
    timeout: 90_000,
  }, async () => {
    await add('2026-05-04T06:59:00.000Z', '0 7 * * *', '-i', 'do=this', '--name', 'morning')
    const killed = await look('2026-05-04T07:00:01Z', { RESOLVE_FAILPOINTS: `${step}=kill` })
    expect(killed.signal, killed.stderr).toBe('SIGKILL')
    const looks = await Promise.all([look('2026-05-04T07:00:05Z'), look('2026-05-04T07:00:05Z')])
    const told = looks.flatMap(({ news }) => news)
    expect(told.length).toBe(step === 'schedule.recorded' ? 0 : 1)
    expect(told.every(({ outcome }) => outcome === 'started')).toBe(true)
    expect((await instances()).length).toBe(1)
    expect(await listed()).toMatchObject([{ started: 1, missed: 0, skipped: 0 }])
  })
}

test('killed before the instance existed and found too late, the due time is missed (R72)', {
  timeout: 90_000,
}, async () => {
  await add('2026-05-04T06:59:00.000Z', '0 7 * * *', '-i', 'do=this')
  await look('2026-05-04T07:00:01Z', { RESOLVE_FAILPOINTS: 'schedule.claimed=kill' })
  expect((await look('2026-05-04T12:00:00Z')).news).toMatchObject([{ outcome: 'missed' }])
  expect(await instances()).toEqual([])
})

test('many processes at one due time create one instance (R72)', { timeout: 90_000 }, async () => {
  await add('2026-05-04T06:59:00.000Z', '0 7 * * *', '-i', 'do=this')
  const looks = await Promise.all(Array.from({ length: 4 }, () => look('2026-05-04T07:00:01Z')))
  expect(looks.flatMap(({ news }) => news)).toMatchObject([{ outcome: 'started' }])
  expect((await instances()).length).toBe(1)
})

test('two real servers start one instance a minute, and go on when one is killed (R72)', {
  timeout: 200_000,
}, async () => {
  expect((await place.run('schedule', 'add', '* * * * *', 'works', '-i', 'do=this')).code).toBe(0)
  for (let n = 0; n < 2; n += 1) running.push(await startServe(place.home, ['--no-ui']))
  const started = async () => (await listed())[0]?.started
  const logged = () => {
    const log = running.map((one) => one.stderr()).join('')
    return log.match(/Schedule works, due [^:]+:\d\d:00\.000Z: started/g)?.length ?? 0
  }
  await expect.poll(started, { timeout: 75_000, interval: 500 }).toBe(1)
  // A server notes the start first and logs it a moment later: it must not be killed in between.
  await expect.poll(logged).toBe(1)
  running[0]?.kill('SIGKILL')
  await expect.poll(started, { timeout: 75_000, interval: 500 }).toBe(2)
  const all = await instances()
  expect(all.map(({ schedule }) => schedule?.due_at.slice(17))).toEqual(['00.000Z', '00.000Z'])
  expect(new Set(all.map(({ schedule }) => schedule?.due_at)).size).toBe(2)
  await expect.poll(logged).toBe(2)
})

test('a paused schedule misses nothing; what is wrong with a schedule is refused when it is added (R72)', {
  timeout: 90_000,
}, async () => {
  await add('2026-05-04T06:59:00.000Z', '0 7 * * *', '-i', 'do=this', '--name', 'morning')
  expect((await place.run('schedule', 'pause', 'morning')).code).toBe(0)
  expect((await look('2026-05-08T12:00:00Z')).news).toEqual([])
  expect(await listed()).toMatchObject([{ paused: true, next_at: null, missed: 0 }])
  expect((await place.run('schedule', 'resume', 'morning')).code).toBe(0)
  expect((await look(new Date().toISOString())).news).toEqual([])

  const refused = async (code: number, sentence: string, ...args: string[]) => {
    const ended = await place.run('schedule', 'add', ...args)
    expect(ended.code, ended.stderr).toBe(code)
    expect(ended.stderr).toContain(sentence)
  }
  await refused(2, 'is no cron expression of five fields', '0 7 * *', 'works', '-i', 'do=x')
  await refused(2, 'is no cron expression of five fields', '* * * * * *', 'works', '-i', 'do=x')
  await refused(2, 'is no cron expression of five fields', '2030-01-01T00:00:00', 'works', '-i', 'do=x')
  await refused(2, '"25" is no hour of a cron expression, in "0 25 * * *"; it is 0 to 23.', '0 25 * * *', 'works')
  await refused(2, '"JUNK" is no month of a cron expression', '0 7 1 JUNK *', 'works')
  await refused(2, 'is never due', '0 7 31 2 *', 'works', '-i', 'do=x')
  await refused(2, 'There is no time zone "Mars/Base"', '0 7 * * *', 'works', '-i', 'do=x', '--timezone', 'Mars/Base')
  await refused(6, 'nothere', '0 7 * * *', 'nothere')
  await refused(5, 'Say what to do.', '0 7 * * *', 'works')
  await refused(7, 'There is a schedule "morning" already.', '0 7 * * *', 'works', '-i', 'do=x', '--name', 'morning')
  await refused(2, '"key" is a secret field', '0 7 * * *', 'works', '-i', 'do=x', '-i', 'key=hunter2')
  expect(readFileSync(join(place.home, 'schedules.json'), 'utf8')).not.toContain('hunter2')
  expect((await place.run('schedule', 'remove', 'morning')).code).toBe(0)
  expect((await place.run('schedule', 'remove', 'morning')).code).toBe(6)
})

test('a damaged instance stops its own schedule, and no other (R72)', { timeout: 90_000 }, async () => {
  await add('2026-05-04T06:59:00.000Z', '0 * * * *', '-i', 'do=this', '--name', 'first')
  const [started] = (await look('2026-05-04T07:00:01Z')).news
  const id = started?.instance_id ?? ''
  await expect.poll(async () => (await instances())[0]?.status).toBe('completed')
  // Its host writes the record once more after that event.
  await expect.poll(() => hasHost(place.home, id)).toBe(false)
  await add('2026-05-04T07:30:00.000Z', '0 * * * *', '-i', 'do=this', '--name', 'second')
  const journal = join(place.home, 'instances', id, 'journal')
  writeFileSync(journal, Buffer.concat([Buffer.alloc(12, '#'), readFileSync(journal).subarray(12)]))
  rmSync(join(place.home, 'instances', id, 'record.json'), { force: true })
  const { news, stderr } = await look('2026-05-04T08:00:01Z')
  expect(stderr).toBe('')
  expect(news.map(({ schedule, outcome }) => `${schedule} ${outcome}`).sort()).toEqual([
    'first failed',
    'second started',
  ])
  expect(news.find(({ outcome }) => outcome === 'failed')?.detail).toContain(id)
})

/** A resolver that never answers at its form, but only once it has been told to. */
async function addSilent(): Promise<{ fallSilent: () => void }> {
  const flag = join(place.home, 'silent')
  const silent = plainResolver(
    `me.finish({ status: 'completed' })`,
    { name: 'silent' },
    `me.on['resolver.getInstantiationSchema'] = () =>
       process.getBuiltinModule('fs').existsSync(${JSON.stringify(flag)}) ? Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) : (${JSON.stringify(FORM)})`,
  )
  expect(await place.run('resolver', 'add', silent.dir)).toMatchObject({ code: 0 })
  return { fallSilent: () => writeFileSync(flag, '') }
}

test('resolvers that hang keep no other schedule waiting, and each outcome has its true reason (R72)', {
  timeout: 120_000,
}, async () => {
  const { fallSilent } = await addSilent()
  const whole = join(place.home, 'schedules.json')
  const { id, ...one } = await add('2026-05-04T06:59:00.000Z', '0 7 * * *', '-i', 'do=this', '--name', 'healthy')
  const file = JSON.parse(readFileSync(whole, 'utf8')) as { schedules: object[] }
  const [healthy] = file.schedules
  const firsts = ['1', '2', '3', '4'].filter((first) => !id.startsWith(first)).slice(0, 3)
  const hanging = firsts.map((first) => ({
    ...{ ...healthy, ...one, resolver: 'silent' },
    ...{ id: `${first}${id.slice(1)}`, name: `silent-${first}` },
  }))
  const kept = hanging.map((each) => ({ ...healthy, ...each, handled_until: '2026-05-04T06:59:00.000Z' }))
  writeFileSync(whole, JSON.stringify({ ...file, schedules: [...kept, healthy] }))
  fallSilent()
  const { news } = await look('2026-05-04T07:00:01Z')
  // They were begun before it, and it did not wait for one of them.
  expect(news.map(({ schedule, outcome }) => `${schedule} ${outcome}`)[0]).toBe('healthy started')
  const others = news.slice(1)
  expect(others.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'failed'])
  for (const { detail } of others) expect(detail).toContain('did not answer')
})

test('a due time that passed while the instance before was being created is told as that (R72)', {
  timeout: 90_000,
}, async () => {
  await add('2026-05-04T06:59:00.000Z', '* * * * *', '-i', 'do=this', '--name', 'busy')
  const path = join(place.home, 'schedules.json')
  const file = JSON.parse(readFileSync(path, 'utf8')) as { schedules: { busy_until?: string }[] }
  for (const one of file.schedules) one.busy_until = '2026-05-04T07:02:30.000Z'
  writeFileSync(path, JSON.stringify(file))
  const { news } = await look('2026-05-04T07:02:31Z')
  expect(news).toMatchObject([
    { outcome: 'missed', detail: 'The instance before was still being created.' },
    { outcome: 'started', due_at: '2026-05-04T07:02:00.000Z' },
  ])
})

test('no schedule is added while the form of its resolver is unknown; a field that became secret fails at its due time (R72)', {
  timeout: 90_000,
}, async () => {
  const { fallSilent } = await addSilent()
  fallSilent()
  const refused = await place.run('schedule', 'add', '0 7 * * *', 'silent', '-i', 'key=canary-8472')
  expect(refused).toMatchObject({ code: 10, stderr: expect.stringContaining("can't be asked for its form now") })
  expect(await listed()).toEqual([])

  await add('2026-05-04T06:59:00.000Z', '0 7 * * *', '-i', 'do=this')
  const path = join(place.home, 'schedules.json')
  writeFileSync(path, readFileSync(path, 'utf8').replace('"do":"this"', '"do":"this","key":"canary-8472"'))
  expect((await look('2026-05-04T07:00:01Z')).news).toMatchObject([
    { outcome: 'failed', detail: expect.stringContaining('"key" is a secret field') },
  ])
  expect(await instances()).toEqual([])
  // Its value is in no file any more, and the schedule says why it is paused.
  expect(readFileSync(path, 'utf8')).not.toContain('canary-8472')
  const [paused] = await listed()
  expect(paused).toMatchObject({ paused: true, input: { do: 'this' }, next_at: null })
  expect(paused?.last?.detail).toContain('its value was removed here and the schedule paused')
  expect((await look('2026-05-05T07:00:01Z')).news).toEqual([])
  expect((await place.run('schedule', 'resume', 'works')).code).toBe(0)
  const next = nextDue('0 7 * * *', 'UTC', new Date())?.getTime() ?? 0
  expect((await look(new Date(next + 1_000).toISOString())).news).toMatchObject([{ outcome: 'started' }])
})

test('over HTTP: reading needs the scope read, changing needs admin; a damaged file is told and nothing is run (R72)', {
  timeout: 90_000,
}, async () => {
  const server = await startServe(place.home, ['--no-ui'])
  running.push(server)
  const token = async (scope: string) => (await place.run('token', 'create', '--scope', scope)).stdout.trim()
  const [admin, run] = [client(server.url, await token('admin')), client(server.url, await token('run'))]
  const body = { cron: '0 7 * * *', resolver: 'works', input: { do: 'this' }, timezone: 'UTC' }
  expect((await run('POST', '/schedules', body)).status).toBe(403)
  expect(await admin('POST', '/schedules', body)).toMatchObject({ status: 200, body: { name: 'works', paused: false } })
  expect((await admin('POST', '/schedules', body)).body).toMatchObject({ name: 'works-2' })
  expect((await admin('POST', '/schedules', { ...body, cron: 'x'.repeat(5_000) })).status).toBe(422)
  expect((await admin('POST', '/schedules', { ...body, name: '../../etc' })).status).toBe(422)
  expect((await run('GET', '/schedules')).body).toMatchObject([
    { name: 'works', input: {}, input_hidden: true },
    { name: 'works-2', input: {}, input_hidden: true },
  ])
  expect((await admin('GET', '/schedules')).body).toMatchObject([{ input: { do: 'this' } }, { name: 'works-2' }])
  expect((await run('DELETE', '/schedules/works')).status).toBe(403)
  expect((await admin('DELETE', '/schedules/works')).status).toBe(200)
  expect((await admin('POST', '/schedules/works-2/pause')).body).toMatchObject({ paused: true })
  writeFileSync(join(place.home, 'schedules.json'), '{"schema":"resolve.schedules/1","schedules":[{"id":1}]}')
  await server.said('Schedules are not run: ')
  expect((await admin('GET', '/schedules')).status).toBe(500)
  expect(await (await fetch(`${server.url}/api/health`)).json()).toEqual({ status: 'degraded' })
})

test('a look at schedules that did not change reads no file and computes no due time; a change is seen (R72)', {
  timeout: 90_000,
}, async () => {
  await add('2026-05-04T06:59:00.000Z', '0 7 * * *', '-i', 'do=this', '--name', 'first')
  const path = join(place.home, 'schedules.json')
  const file = JSON.parse(readFileSync(path, 'utf8')) as { schedules: Schedule[] }
  const [first] = file.schedules
  const write = (name: string, cron: string) =>
    writeFileSync(path, JSON.stringify({ ...file, schedules: [{ ...first, name, cron }, ...others] }))
  const others = Array.from({ length: 20 }, (_, at) => {
    return { ...first, id: `${at + 10}`.padStart(12, '0'), name: `other-${at}`, timezone: 'America/New_York' }
  })
  write('first', '0 7 * * *')
  let now = new Date('2026-05-04T04:30:00Z')
  const created: string[] = []
  const runner = new ScheduleRunner({
    home: place.home,
    platform: {
      create: async ({ schedule }) => created.push(schedule.name),
      recordOf: async () => undefined,
    },
    tell: () => {},
    now: () => now,
  })
  const { reads, stop } = countReads((opened) => opened === path)
  const computed = vi.spyOn(Cron.prototype, 'nextRun')
  const costOf = async (looks: number) => {
    const [before] = [reads.opens, computed.mockClear()]
    for (let n = 0; n < looks; n += 1) await runner.look()
    return { opens: reads.opens - before, computed: computed.mock.calls.length }
  }
  try {
    await runner.look()
    await expect.poll(() => costOf(5), { interval: 200 }).toEqual({ opens: 0, computed: 0 })
    // Only what another process changed is computed anew.
    write('first', '0 5 * * *')
    expect((await costOf(1)).computed).toBe(1)
    await expect.poll(() => costOf(5), { interval: 200 }).toEqual({ opens: 0, computed: 0 })
    now = new Date('2026-05-05T05:00:01Z')
    await runner.look()
    await runner.settled()
    expect(created).toEqual(['first'])
  } finally {
    stop()
    computed.mockRestore()
    await runner.close()
  }
})
