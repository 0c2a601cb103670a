/** `resolve instance logs` and `--verbose`: what a worker prints and logs, with times, in order, each line once (R40, R41). */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LogLine } from '../../src/core/protocol/log.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import { storyOf, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Home, newHome } from './cli.ts'

const BEHAVIOUR = `
  const say = (text) => fs.writeSync(2, text)
  const log = (level, message) => print(JSON.stringify({ jsonrpc: '2.0', method: 'resolver.log', params: { level, message } }) + '\\n')
  // Lines of different streams have an order only where the host has read one before the next is written.
  const logFile = root + '/../../log'
  const hasLogged = async (text) => { while (!fs.existsSync(logFile) || !fs.readFileSync(logFile, 'utf8').includes(text)) await sleep(10) }
  const { kind } = me.params
  if (kind === 'all') {
    say('to \\u001b[31mstderr\\u001b[0m\\n'); await hasLogged('31mstderr')
    print('no frame\\n'); log('debug', 'a detail'); log('warn', 'a warning'); log('shout', 'of no level'); await hasLogged('of no level')
    say('key ' + me.config.credentials.llm_provider_api_key + '\\nwithout end')
  }
  if (kind === 'paces') for (const [stream, write] of [['stdout', print], ['stderr', say]]) for (let n = 1; n <= 6; n += 1) {
    write(stream + ' line ' + n + '\\n'); await hasLogged(stream + ' line ' + n)
  }
  if (kind === 'forges') { log('info', 'first\\n00:00:00.000 error    forged\\u001b]0;title\\u0007'); say('a\\u001b[31mb\\n') }
  if (kind === 'asks') { say('before the question\\n'); const { x } = await me.ask('q', '?', { type: 'form', components: [{ id: 'x', type: 'text' }] }); say('answer ' + x + '\\n') }
  if (kind === 'counts') for (let n = 1; n <= 400; n += 1) {
    say('stderr ' + n + '\\n'); if (n % 20 === 0) print('noise ' + n + '\\n'); if (n % 10 === 0) log('info', 'log ' + n)
    await sleep(5)
    while (n === 390 && !fs.existsSync(root + '/go-on')) await sleep(20)
  }
  if (kind === 'floods') { const block = ('x'.repeat(99) + '\\n').repeat(10_000); for (let n = 0; n < 150; n += 1) say(block); say('the last line\\n') }
  me.finish({ status: 'completed', output: 'done' })`

const SECRET = 'a-key-that-is-told-nowhere'
let place: Home

beforeAll(async () => {
  place = newHome()
  const { dir } = plainResolver(BEHAVIOUR, { name: 'speaks' })
  expect((await place.run('resolver', 'add', dir)).code).toBe(0)
})

afterAll(() => place.end())

async function startedWith(kind: string, ...args: string[]) {
  const env = { RESOLVE_LLM_PROVIDER_API_KEY: SECRET }
  return await place.with({ env, stdin: JSON.stringify({ kind }) }, 'run', 'speaks', '--input-file', '-', ...args)
}

async function linesOf(id: string, ...args: string[]): Promise<LogLine[]> {
  const { stdout, stderr } = await place.run('instance', 'logs', id, '--jsonl', ...args)
  expect(stderr).toBe('')
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogLine)
}

async function idOf(kind: string): Promise<string> {
  return (JSON.parse((await startedWith(kind, '--json')).stdout) as { instance_id: string }).instance_id
}

// verifies: R40 R41 S-LOG-01 S-LOG-04
test('stderr, log messages and noise on stdout are kept with times, in order, secrets redacted', async () => {
  const id = await idOf('all')
  const lines = await linesOf(id, '--all')
  expect(lines.map(({ source, level, text }) => [source, level, text])).toEqual([
    ['stderr', null, 'to \u001b[31mstderr\u001b[0m'],
    ['stdout', null, 'no frame'],
    ['resolver', 'debug', 'a detail'],
    ['resolver', 'warn', 'a warning'],
    ['resolver', 'info', 'of no level'],
    ['stderr', null, 'key [redacted]'],
    ['stderr', null, 'without end'],
  ])
  expect(lines.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6, 7])
  const times = lines.map(({ at }) => at)
  expect(times.toSorted()).toEqual(times)
  expect(readFileSync(instancePaths(place.home, id).log, 'utf8')).not.toContain(SECRET)

  const shown = await place.run('instance', 'logs', id)
  expect(shown.stdout.replace(/^\d\d:\d\d:\d\d\.\d{3}/gm, 'TIME')).toBe(
    [
      ...['TIME stderr   to stderr', 'TIME stdout   no frame', 'TIME warn     a warning'],
      ...['TIME info     of no level', 'TIME stderr   key [redacted]', 'TIME stderr   without end', ''],
    ].join('\n'),
  )
  expect((await place.run('instance', 'logs', id, '--stderr', '--raw')).stdout).toBe(
    'to \u001b[31mstderr\u001b[0m\nkey [redacted]\nwithout end\n',
  )
  expect((await linesOf(id, '--tail', '2')).map(({ n }) => n)).toEqual([6, 7])
  // Two lines can have one millisecond.
  const late = lines.filter(({ at }) => at >= (times[5] as string)).map(({ n }) => n)
  expect(late.length).toBeLessThan(lines.length)
  expect((await linesOf(id, '--since', times[5] as string)).map(({ n }) => n)).toEqual(late)
  expect(await linesOf(id, '--since', '2999-01-01')).toEqual([])
  for (const since of ['yesterday', '99999999999999d', '9999-99-99']) {
    const refused = await place.run('instance', 'logs', id, '--since', since)
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/is not a time/)])
  }
  const document = JSON.parse((await place.run('instance', 'logs', id, '--json', '--all')).stdout)
  expect(document).toEqual({ schema: 'resolve.logs/1', instance_id: id, lines })
})

test('a message of several lines cannot pass for several messages', async () => {
  const id = await idOf('forges')
  const { stdout } = await place.run('instance', 'logs', id)
  expect(
    stdout
      .replace(/^\d\d:\d\d:\d\d\.\d{3}/gm, 'TIME')
      .split('\n')
      .toSorted(),
  ).toEqual([...['', '    00:00:00.000 error    forged', 'TIME info     first', 'TIME stderr   ab']])
})

// verifies: S-LOG-02
test('run --verbose shows the lines beside the progress', async () => {
  const { stdout, stderr } = await startedWith('all', '--verbose')
  expect(stdout).toBe('done\n')
  const said = stderr.split('\n').map((line) => line.replace(/^\d\d:\d\d:\d\d\.\d{3} \w+ +/, 'LOG '))
  const logged = ['to stderr', 'no frame', 'a detail', 'a warning', 'of no level', 'key [redacted]', 'without end']
  expect(said.filter((line) => line.startsWith('LOG '))).toEqual(logged.map((text) => `LOG ${text}`))
  expect(said.indexOf('LOG without end')).toBeLessThan(said.findIndex((line) => line.includes('completed in')))
})

// verifies: S-LOG-02
test('logs --follow prints lines as they come, and ends with the instance', async () => {
  const id = (await startedWith('asks', '--detach')).stdout.trim()
  const follower = place.start({}, 'instance', 'logs', id, '-f', '--raw')
  await follower.said('before the question\n')
  await until(place.home, id, (story) => story.status === 'awaiting_input')
  expect((await place.run('instance', 'answer', id, '-i', 'x=given')).code).toBe(0)
  expect(await follower.ended).toMatchObject({ code: 0, stdout: 'before the question\nanswer given\n' })
})

// verifies: S-LOG-03
test('hosts that are killed lose no line and double none (reliability F2)', { timeout: 60_000 }, async () => {
  const id = (await startedWith('counts', '--detach')).stdout.trim()
  for (let kills = 0; kills < 4; kills += 1) {
    const follower = place.start({}, 'instance', 'logs', id, '-f', '--raw')
    // Some lines of each host are in the log before it is killed.
    await follower.said(`stderr ${kills * 90 + 15}\n`)
    follower.kill('SIGKILL')
    const { adoptions } = storyOf(place.home, id)
    process.kill(readOwner(instancePaths(place.home, id).owners)?.process.pid ?? 0, 'SIGKILL')
    expect((await place.run('instance', 'message', id, '--list')).code).toBe(0)
    expect(storyOf(place.home, id).adoptions).toBeGreaterThan(adoptions)
  }
  writeFileSync(join(instancePaths(place.home, id).project, '.resolve', 'go-on'), '')
  expect((await place.run('instance', 'wait', id)).code).toBe(0)
  const lines = await linesOf(id)
  expect(lines.map(({ n }) => n)).toEqual(lines.map((_, at) => at + 1))
  const of = (source: string) => lines.filter((line) => line.source === source).map(({ text }) => text)
  const numbers = (word: string, step: number) =>
    Array.from({ length: 400 / step }, (_, at) => `${word} ${(at + 1) * step}`)
  expect(of('stderr')).toEqual(numbers('stderr', 1))
  expect(of('stdout')).toEqual(numbers('noise', 20))
  expect(of('resolver')).toEqual(numbers('log', 10))
})

test('a line on stderr is read as soon as one on stdout, not with the next sweep', { timeout: 60_000 }, async () => {
  const id = (await startedWith('paces', '--detach')).stdout.trim()
  expect((await place.run('instance', 'wait', id)).code).toBe(0)
  const lines = await linesOf(id)
  const spanOf = (source: string) => {
    const times = lines.filter((line) => line.source === source).map(({ at }) => Date.parse(at))
    expect(times).toHaveLength(6)
    return Math.max(...times) - Math.min(...times)
  }
  // Each line is written when the one before it was read: sweeps every 2 s would make 10 s of them.
  expect(spanOf('stderr')).toBeLessThan(3 * spanOf('stdout') + 4_000)
})

// verifies: S-LOG-05
test('a flood of 150 MB on stderr leaves a bounded log, with its last lines and what was left out', async () => {
  const id = await idOf('floods')
  const { log, stderr } = instancePaths(place.home, id)
  for (const path of [log, `${log}.1`, stderr]) {
    expect(statSync(path, { throwIfNoEntry: false })?.size ?? 0).toBeLessThan(12 * 1024 * 1024)
  }
  const lines = await linesOf(id)
  expect(lines.at(-1)?.text).toBe('the last line')
  expect(lines.some(({ source, text }) => source === 'platform' && text.includes('left out'))).toBe(true)
})
