/** Every row of docs/exit-codes.md, made to happen with no flag, --json and --jsonl. Code 4 needs a server. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXIT_MEANING } from '../../src/terminal/output/exit-codes.ts'
import { doer, type Ended, type Home, lastLine, newHome } from './cli.ts'

const MODES = ['', '--json', '--jsonl'] as const
type Mode = (typeof MODES)[number]

let place: Home
let completed = ''

beforeAll(async () => {
  place = newHome()
  expect((await place.run('resolver', 'add', doer())).code).toBe(0)
  const { stdout } = await place.run('run', 'doer', '-i', 'do=nothing', '--json')
  completed = (JSON.parse(stdout) as { instance_id: string }).instance_id
})

afterAll(() => place.end())

const SABOTAGE =
  "--import=data:text/javascript,import c from 'node:crypto';import m from 'node:module';c.randomBytes=()=>{throw new TypeError('sabotaged')};m.syncBuiltinESMExports()"

const run = (mode: Mode, ...args: string[]) => place.run('run', 'doer', ...args, ...(mode === '' ? [] : [mode]))
const plain = (mode: Mode, ...args: string[]) => place.run(...args, ...(mode === '' ? [] : [mode]))
const flag = (mode: Mode) => (mode === '' ? [] : [mode])

/** Runs something that sleeps, and signals it once it runs. */
async function signalled(
  mode: Mode,
  signal: NodeJS.Signals,
  env: Record<string, string> = {},
): Promise<Ended & { tookMs: number }> {
  const name = `${signal}${mode}${env['CI'] ?? ''}`
  const started = place.start(env, 'run', 'doer', '-i', 'do=sleep', '--name', name, ...flag(mode))
  if (mode === '--json') await until(async () => (await statusOf(name)) === 'running')
  else await started.said('running')
  const began = Date.now()
  started.kill(signal)
  return { ...(await started.ended), tookMs: Date.now() - began }
}

async function statusOf(name: string): Promise<string | undefined> {
  const { stdout } = await place.run('instance', 'list', '--json', '--all')
  const { instances } = JSON.parse(stdout) as { instances: { name: string; status: string }[] }
  return instances.find((one) => one.name === name)?.status
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let at = 0; at < 100; at += 1) {
    if (await holds()) return
    await new Promise((done) => setTimeout(done, 50))
  }
  expect.fail('it never came to hold')
}

interface Row {
  code: number
  make: (mode: Mode) => Promise<Ended>
  /** Whether there is an instance to tell of: then its document is the result, not an error. */
  instance: boolean
}

const ROWS: Row[] = [
  { code: 0, instance: true, make: (mode) => run(mode, '-i', 'do=nothing') },
  { code: 1, instance: true, make: (mode) => run(mode, '-i', 'do=fail') },
  { code: 2, instance: false, make: (mode) => run(mode, '-i', 'bogus=1') },
  { code: 3, instance: true, make: (mode) => run(mode, '-i', 'do=ask', '--on-input', 'cancel') },
  { code: 5, instance: false, make: (mode) => run(mode, '-i', 'count=none') },
  { code: 6, instance: false, make: (mode) => plain(mode, 'run', 'nobody') },
  { code: 7, instance: false, make: (mode) => plain(mode, 'instance', 'resume', completed) },
  { code: 8, instance: true, make: (mode) => run(mode, '-i', 'do=ask') },
  { code: 9, instance: true, make: (mode) => run(mode, '-i', 'do=pause') },
  {
    code: 10,
    instance: false,
    make: (mode) =>
      place.with({ env: { RESOLVE_HOME: '/dev/null/home' } }, 'run', 'doer', '-i', 'do=nothing', ...flag(mode)),
  },
  {
    code: 70,
    instance: false,
    make: (mode) =>
      place.with(
        { env: { NODE_OPTIONS: SABOTAGE.replaceAll(' ', '%20') } },
        'run',
        'doer',
        '-i',
        'do=nothing',
        ...flag(mode),
      ),
  },
  { code: 124, instance: true, make: (mode) => run(mode, '-i', 'do=sleep', '--timeout', '1s') },
  { code: 127, instance: false, make: (mode) => plain(mode, 'frobnicate') },
  { code: 129, instance: true, make: (mode) => signalled(mode, 'SIGHUP') },
  { code: 130, instance: true, make: (mode) => signalled(mode, 'SIGINT') },
  { code: 143, instance: true, make: (mode) => signalled(mode, 'SIGTERM') },
]

test('every exit code of the table is tried here, except those that need a server (4) or Docker (11, in test/reality-check)', () => {
  const rows = ROWS.map(({ code }) => code)
  expect(
    Object.keys(EXIT_MEANING)
      .map(Number)
      .filter((code) => !rows.includes(code)),
  ).toEqual([4, 11])
})

test.each(ROWS)('exit code $code in every mode', async ({ code, make, instance }) => {
  const [person, json, jsonl] = await Promise.all(MODES.map(make))
  expect([person?.code, json?.code, jsonl?.code], `${person?.stderr}${json?.stderr}${jsonl?.stderr}`).toEqual([
    code,
    code,
    code,
  ])

  expect(person?.stderr).not.toBe('')
  expect(person?.stderr).not.toContain('\u001b')
  if (code !== 0) expect(person?.stdout).toBe('')

  const document = JSON.parse(json?.stdout ?? '') as Record<string, unknown>
  expect(document['schema']).toBe(instance ? 'resolve.instance/1' : 'resolve.error/1')
  expect(document['exit_code']).toBe(code)
  expect(document['next']).toBeInstanceOf(Array)
  expect(json?.stderr.trimEnd().split('\n').length).toBe(1)

  const closing = lastLine(jsonl?.stdout ?? '')
  const told = instance ? (closing['instance'] as Record<string, unknown>) : closing
  expect(told['exit_code']).toBe(code)
  expect(closing['type']).toBe(
    !instance ? 'error' : ['completed', 'failed', 'cancelled'].includes(String(told['status'])) ? 'done' : 'left',
  )
  for (const line of (jsonl?.stdout ?? '').trimEnd().split('\n').slice(0, -1)) {
    expect(JSON.parse(line)).toMatchObject({ schema_version: 1, event_type: expect.any(String) as string })
  }
})

test('a bug writes a report without the values of flags', async () => {
  const reports = readdirSync(join(place.home, 'reports'))
  expect(reports.length).toBeGreaterThan(0)
  const { stdout } = await place.with(
    { env: { NODE_OPTIONS: SABOTAGE.replaceAll(' ', '%20') } },
    'run',
    'doer',
    '-i',
    'do=secret-value',
    '--json',
  )
  const { error } = JSON.parse(stdout) as { error: { code: string; fields: { id: string; message: string }[] } }
  expect(error.code).toBe('bug')
  const path = error.fields.find(({ id }) => id === 'report')?.message ?? ''
  const { readFileSync } = await import('node:fs')
  const report = readFileSync(path, 'utf8')
  expect(report).toContain('sabotaged')
  expect(report).toContain('command: run -i --json')
  expect(report).not.toContain('secret-value')
})

test.each(['SIGINT', 'SIGTERM'] as const)(
  'in CI %s stops the instance, and the document is out within 7 s',
  async (signal) => {
    const { code, stdout, tookMs } = await signalled('--json', signal, { CI: '1' })
    expect(code).toBe(signal === 'SIGINT' ? 130 : 143)
    expect(JSON.parse(stdout)).toMatchObject({ status: 'cancelled', exit_code: code })
    expect(tookMs).toBeLessThan(7_000)
  },
)

test('outside CI a signal ends only the command: the instance goes on', async () => {
  const { stdout } = await signalled('--jsonl', 'SIGTERM')
  const { instance, reason } = lastLine(stdout) as { instance: { instance_id: string; status: string }; reason: string }
  expect({ reason, status: instance.status }).toEqual({ reason: 'terminated', status: 'running' })
  const stopped = await place.run('instance', 'stop', instance.instance_id, '--json')
  expect(JSON.parse(stopped.stdout)).toMatchObject({ status: 'cancelled', exit_code: 0 })
})
