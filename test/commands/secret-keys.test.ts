/** A process without the key of secrets, beside one that has it: it hands out nothing, and leaves nothing in clear (threats B9; R55). */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { filesWith } from '../support/files-with.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Ended, type Home, newHome } from './cli.ts'

const GIVEN = 'given-canary-PASS'
const ANSWERED = 'answer-canary-WORD'

/** Writes its secrets into its state and both streams, as a careless resolver does. */
const TELLS = `
  me.stopped.then((reason) => me.finish({ status: reason === 'pause_requested' ? 'paused' : 'cancelled' }))
  const told = [me.params.password]
  const tell = () => { for (const one of told) { console.error('told ' + one); print('noise ' + one + '\\n') }
    write('state.json', JSON.stringify({ told })) }
  tell()
  const secret = { type: 'form', components: [{ type: 'text', id: 'code', secret: true }] }
  const first = await me.ask('first', 'Code?', secret)
  told.push(first.code)
  tell()
  await me.ask('last', 'More?', { type: 'form', components: [{ type: 'text', id: 'note' }] })
  me.finish({ status: 'completed', output: 'done ' + told.join(' ') })`
const SETUP = `me.on['resolver.getInstantiationSchema'] = () => ({ type: 'form', components: [{ type: 'text', id: 'password', secret: true }] })`

let place: Home
let key: Record<string, string>
beforeEach(async () => {
  place = newHome()
  key = { RESOLVE_SECRET_KEY_FILE: join(place.home, '..', 'elsewhere.key') }
  const { dir } = plainResolver(TELLS, { name: 'tells', supports_resume: true }, SETUP)
  expect((await place.run('resolver', 'add', dir)).code).toBe(0)
})
afterEach(() => place.end())

/** The id of an instance that has got both secrets and asks its last question. */
async function asking(env: Record<string, string>): Promise<string> {
  const begun = await place.with({ env }, 'run', 'tells', '--detach', '-i', `password=${GIVEN}`)
  expect(begun).toMatchObject({ code: 0 })
  const id = begun.stdout.trim()
  await until(id, 'first')
  const answered = await place.with({ env }, 'instance', 'answer', id, '-i', `code=${ANSWERED}`)
  expect(answered).toMatchObject({ code: 0 })
  await until(id, 'last')
  return id
}

async function until(id: string, asked: string): Promise<void> {
  await expect
    .poll(() => readFileSync(instancePaths(place.home, id).journal, 'utf8'), { interval: 50 })
    .toMatch(new RegExp(`"(request_)?id":"${asked}"`))
}

async function untilEnded(id: string): Promise<Record<string, unknown>> {
  let shown: Record<string, unknown> = {}
  await expect
    .poll(
      async () => {
        shown = JSON.parse((await place.run('instance', 'show', id, '--json')).stdout)
        return shown['status']
      },
      { interval: 100 },
    )
    .toMatch(/failed|cancelled|completed/)
  return shown
}

function killHost(id: string): void {
  const { owners } = instancePaths(place.home, id)
  const [latest] = readdirSync(owners).sort((a, b) => Number.parseInt(b, 10) - Number.parseInt(a, 10))
  const owner = JSON.parse(readFileSync(join(owners, latest as string), 'utf8')) as { process: { pid: number } }
  process.kill(owner.process.pid, 'SIGKILL')
}

/** Every file of the home but those of the resolver itself and, while it runs, the worker's own input. */
function inClear(): string[] {
  return filesWith(place.home, [GIVEN, ANSWERED])
}

function expectSilent(ended: Ended): void {
  expect(ended.stdout + ended.stderr).not.toMatch(/canary/)
}

// verifies: R55
test('a reader without the key of a running instance hands out neither state nor stderr; list, show and cancel work', async () => {
  const id = await asking(key)
  const withKey = await place.with({ env: key }, 'instance', 'state', id)
  expect(withKey).toMatchObject({ code: 0, stdout: expect.stringContaining('[redacted]') })
  expectSilent(withKey)
  const wrong = { RESOLVE_SECRET_KEY_FILE: join(place.home, '..', 'wrong.key') }
  const other = newHome()
  expect((await other.with({ env: wrong, stdin: 'x' }, 'secret', 'set', 'ANY')).code).toBe(0)
  await other.end()
  for (const [env, reason] of [
    [{}, `the key file is missing (${join(place.home, 'secret.key')})`],
    [wrong, `it was sealed with another key than that in ${wrong.RESOLVE_SECRET_KEY_FILE}`],
  ] as const) {
    const state = await place.with({ env }, 'instance', 'state', id)
    expect(state).toMatchObject({ code: 10, stdout: '', stderr: expect.stringContaining(reason) })
    const archive = join(place.home, '..', 'out.tar.gz')
    const exported = await place.with({ env }, 'instance', 'export', id, '--output', archive)
    expect([exported.code, existsSync(archive)]).toEqual([10, false])
    for (const read of [['show', id], ['show', id, '--json'], ['list'], ['list', '--json'], ['explain', id]]) {
      const ended = await place.with({ env }, 'instance', ...read)
      expect(ended).toMatchObject({ code: 0 })
      expectSilent(ended)
    }
    expectSilent(state)
  }
  expect(await place.run('instance', 'cancel', id)).toMatchObject({ code: 0 })
  expect(await untilEnded(id)).toMatchObject({ status: 'cancelled' })
  expect(inClear()).toEqual([])
  // Its files are clean now, so that they can be read without the key.
  expect(await place.run('instance', 'state', id)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('[redacted]'),
  })
})

// verifies: R55
test('a host without the key ends the worker that it adopts, and leaves no secret in clear', async () => {
  const id = await asking(key)
  killHost(id)
  const refused = await place.run('instance', 'answer', id, '-i', 'note=go on')
  expectSilent(refused)
  expect(await untilEnded(id)).toMatchObject({ status: 'failed', error: { code: 'secret_unreadable' } })
  expect(inClear()).toEqual([])
  expect((await place.run('doctor')).stdout).toContain('No worker is left of an ended instance')
})

// verifies: R55
test('cancel without the key ends an instance whose host was killed, and leaves no secret in clear', async () => {
  const id = await asking(key)
  killHost(id)
  expect(await place.run('instance', 'cancel', id)).toMatchObject({ code: 0 })
  expect(await untilEnded(id)).toMatchObject({ status: 'cancelled' })
  expect(inClear()).toEqual([])
})

// verifies: R55
test('a lost key is not replaced while an instance needs it: a paused one is resumed when the key is back', async () => {
  const id = await asking({})
  const path = join(place.home, 'secret.key')
  const before = readFileSync(path)
  expect((await place.run('instance', 'pause', id)).code).toBe(0)
  await expect.poll(async () => (await place.run('instance', 'show', id)).stdout, { interval: 100 }).toContain('paused')
  rmSync(path)
  const again = await place.run('run', 'tells', '--detach', '-i', `password=${GIVEN}`)
  expect(again).toMatchObject({
    code: 10,
    stderr: expect.stringContaining(`Can't use the key file ${path}: it is missing`),
  })
  expectSilent(again)
  expect(existsSync(path)).toBe(false)
  const resumed = await place.run('instance', 'resume', id, '--detach')
  expect(resumed).toMatchObject({ code: 10, stderr: expect.stringContaining(`the key file is missing (${path})`) })
  expect((await place.run('instance', 'show', id)).stdout).toContain('paused')
  writeFileSync(path, before, { mode: 0o600 })
  expect((await place.run('instance', 'resume', id, '--detach')).code).toBe(0)
  // Without any instance that needs the lost key, another one is made.
  expect((await place.run('instance', 'cancel', id)).code).toBe(0)
  await untilEnded(id)
  rmSync(path)
  expect((await place.run('run', 'tells', '--detach', '-i', `password=${GIVEN}`)).code).toBe(0)
  expect(existsSync(path)).toBe(true)
})

// verifies: R55
test('an instance without secrets is started and stopped without the key that another one needs', async () => {
  await asking(key)
  const { dir } = plainResolver(`await me.stopped; me.finish({ status: 'cancelled' })`, { name: 'waits' })
  expect((await place.run('resolver', 'add', dir)).code).toBe(0)
  const begun = await place.run('run', 'waits', '--detach')
  expect(begun.code).toBe(0)
  const id = begun.stdout.trim()
  expect(await place.run('instance', 'stop', id)).toMatchObject({ code: 0 })
  expect(await untilEnded(id)).toMatchObject({ status: 'cancelled' })
  expect(existsSync(join(place.home, 'secret.key'))).toBe(false)
})
