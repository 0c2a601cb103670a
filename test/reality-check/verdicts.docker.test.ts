/** The rows of the decision table by real checks in real containers, through the command line (docs/reality-check.md, Verdict and failure mode). */
import { afterAll, expect, test } from 'vitest'
import { describeWithDocker, docker, removeContainersOf } from '../support/docker.ts'
import { type CheckStand, checkStand } from './stand.ts'

const SERVER = `
const http = require('node:http')
const notes = []
http.createServer((request, response) => {
  if (request.method === 'POST') {
    let body = ''
    request.on('data', (chunk) => { body += chunk })
    request.on('end', () => { notes.push(JSON.parse(body).text); response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ id: notes.length, text: notes.at(-1) })) })
  } else if (request.url === '/api/notes') response.setHeader('content-type', 'application/json').end(JSON.stringify(notes))
  else if (request.url === '/crash') process.exit(3)
  else if (request.url === '/') response.end('<h1>Notes</h1>')
  else response.writeHead(404).end('no such page')
}).listen(HOST)
`
const onPort = (host: string) => ({ 'server.js': SERVER.replace('HOST', host) })
const NOTES = {
  ...onPort('process.env.PORT'),
  Procfile: 'web: node server.js\n',
}
const HOME_PAGE = { path: '/', expected_status: 200, expected_body_contains: 'Notes' }

describeWithDocker('the verdict of a reality check', { timeout: 180_000 }, () => {
  const stand: CheckStand = checkStand()
  afterAll(() => removeContainersOf(stand.home))

  test('software that meets all criteria passes, exit code 0, and nothing of its room is left (R46)', async () => {
    const post = {
      method: 'POST',
      path: '/api/notes',
      body: { text: '{{$uuid}}' },
      expected_status: 201,
      capture: { text: '$.text' },
    }
    const tests = [
      {
        description: 'A note that was added is listed, until a restart',
        steps: [
          { http: post },
          { http: { path: '/api/notes', expected_json: [{ path: '$', contains: '{{text}}' }] } },
          { restart: 'software' },
          { http: { path: '/api/notes', expected_json: [{ path: '$[0]', exists: false }] } },
        ],
      },
      { description: 'The program runs', steps: [{ run: 'node --version', expected_stdout_contains: 'v' }] },
    ]
    const { code, document, stderr } = await stand.run(NOTES, { checks: [HOME_PAGE], tests })
    expect(document.check?.report.summary, stderr).toBe('All 3 criteria are met.')
    expect([code, document.check?.verdict, document.check?.failure_mode]).toEqual([0, 'pass', null])
    expect(document.check?.report.plan?.start).toContain('server.js')
    expect(await docker('ps', '-aq', '--filter', `label=resolve.instance=${document.instance_id}`)).toBe('')
    expect(await docker('images', '-q', 'resolve-room')).toBe('')
  })

  test('some failed criteria are partial, exit code 11; none passed is fail, exit code 1', async () => {
    const wrong = { path: '/', expected_body_contains: 'Tasks' }
    const some = await stand.run(NOTES, { checks: [HOME_PAGE, wrong] })
    expect([some.code, some.document.check?.verdict, some.document.check?.failure_mode], some.stderr).toEqual([
      11,
      'partial',
      'software',
    ])
    expect(some.document.exit_code).toBe(11)
    expect(some.document.check?.report.failures[0]?.reason).toContain('does not contain "Tasks"')
    const none = await stand.run(NOTES, { checks: [wrong] })
    expect([none.code, none.document.check?.verdict]).toEqual([1, 'fail'])
  })

  test('software that dies in a test has failed', async () => {
    const { code, document } = await stand.run(NOTES, {
      checks: [HOME_PAGE, { path: '/crash', expected_status: 500 }, HOME_PAGE],
    })
    expect([code, document.check?.verdict, document.check?.failure_mode]).toEqual([11, 'partial', 'software'])
    expect(document.check?.report.statistics).toEqual({ total: 3, passed: 1, failed: 1, missing: 1, pass_rate: '1/3' })
  })

  test('a build that fails, and a start that ends with an error, are the fault of the software', async () => {
    const build = await stand.run(NOTES, { checks: [HOME_PAGE] }, '--build', 'echo no compiler >&2; exit 4')
    expect([
      build.code,
      build.document.check?.verdict,
      build.document.check?.failure_mode,
      build.document.check?.report.stage,
    ]).toEqual([1, 'fail', 'software', 'build'])
    expect(build.document.check?.report.log_tail).toContain('no compiler')
    const start = await stand.run(
      { 'server.js': 'process.exit(7)' },
      { checks: [HOME_PAGE] },
      '--start',
      'node server.js',
    )
    expect([start.code, start.document.check?.report.summary]).toEqual([
      1,
      'The software ended with exit code 7 before it answered',
    ])
  })

  test('a start that ends with 0, a port that is not the given one, no way to start: no verdict, config, exit code 2', async () => {
    const zero = await stand.run({ 'server.js': '' }, { checks: [HOME_PAGE] }, '--start', 'node server.js')
    expect([zero.code, zero.document.check?.verdict, zero.document.check?.failure_mode]).toEqual([2, null, 'config'])
    const other = await stand.run(
      onPort('4001'),
      { checks: [HOME_PAGE] },
      '--start',
      'node server.js',
      '--port',
      '4000',
      '--environment',
      '{"start_seconds": 3}',
    )
    expect(other.document.check?.report.summary).toBe('The software listens on 4001, not on the given port 4000')
    const nothing = await stand.run({ 'README.md': 'Nothing' }, { checks: [HOME_PAGE] })
    expect([nothing.code, nothing.document.check?.failure_mode, nothing.document.check?.report.stage]).toEqual([
      2,
      'config',
      'plan',
    ])
  })

  test('software that listens on ::1 alone, or on 127.0.0.1 and another port than the usual, is found', async () => {
    for (const host of ["4002, '::1'", "4003, '127.0.0.1'"]) {
      const { code, stderr } = await stand.run(onPort(host), { checks: [HOME_PAGE] }, '--start', 'node server.js')
      expect(code, stderr).toBe(0)
    }
  })

  test('software that never answers has failed after its time to start', async () => {
    const never = await stand.run(
      { 'server.js': 'setInterval(() => {}, 1000)' },
      { checks: [HOME_PAGE] },
      '--start',
      'node server.js',
      '--environment',
      '{"start_seconds": 2}',
    )
    expect([never.code, never.document.check?.report.summary]).toEqual([
      1,
      'The software was not ready within 2 s: nothing listens',
    ])
  })

  test('a repository that is not there, and criteria that are malformed, are config before anything runs', async () => {
    const malformed = await stand.run(NOTES, { checks: [{ path: '/', expected_statuss: 200 }] })
    expect([malformed.code, malformed.document.error?.code]).toEqual([2, 'check_invalid'])
    expect(malformed.document.error?.message).toContain('expected_statuss')
  })

  test('plain language without a model is missing, never passed', async () => {
    const plain = await stand.run(NOTES, 'Notes can be added and are listed.')
    expect([plain.code, plain.document.check?.verdict, plain.document.check?.failure_mode], plain.stderr).toEqual([
      2,
      null,
      'config',
    ])
    const mixed = await stand.run(NOTES, {
      checks: [HOME_PAGE],
      tests: [{ description: 'Looks good', steps: ['Look at the page'] }],
    })
    expect([mixed.code, mixed.document.check?.verdict]).toEqual([11, 'partial'])
  })

  test('a check that takes too long judges nothing: timeout, exit code 124', async () => {
    const { code, document, stderr } = await stand.run(
      NOTES,
      { checks: [HOME_PAGE] },
      '--build',
      'sleep 60',
      '--check-timeout',
      '4s',
    )
    expect([code, document.check?.verdict, document.check?.failure_mode], stderr).toEqual([124, null, 'timeout'])
  })
})
