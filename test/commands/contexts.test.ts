/** Signing in to servers, contexts and the config file (R73), with the built program and a real server. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { parseConfig } from '../../src/terminal/config/config-file.ts'
import { type Ended, type Home, inTime, newHome } from './cli.ts'
import { type ServeProcess, startServe } from './serving.ts'

let over: Home
let here: Home
let server: ServeProcess
let token: string
let config: string
let path: string

beforeAll(async () => {
  over = newHome()
  token = (await over.run('token', 'create', '--name', 'ada', '--scope', 'run')).stdout.trim()
  server = await startServe(over.home, ['--no-ui'])
})

afterAll(async () => {
  server.kill('SIGTERM')
  await server.ended
  await over.end()
})

beforeEach(() => {
  here = newHome()
  config = mkdtempSync(join(tmpdir(), 'resolve-config-'))
  path = join(config, 'resolve', 'config.json')
})

afterEach(async () => {
  rmSync(config, { recursive: true, force: true })
  await here.end()
})

const run = (...args: string[]): Promise<Ended> => here.with({ env: { XDG_CONFIG_HOME: config } }, ...args)
const login = (...args: string[]): Promise<Ended> =>
  here.with({ env: { XDG_CONFIG_HOME: config }, stdin: `${token}\n` }, 'login', server.url, '--token-stdin', ...args)

test('login checks the token and stores it for this user alone; later commands use the server (R73)', async () => {
  const { code, stdout, stderr } = await login()
  expect(code, stderr).toBe(0)
  expect(stdout).toMatch(/^Signed in to http:\/\/127\.0\.0\.1:\d+ as ada \(scope run, until /)
  expect(stdout + stderr).not.toContain(token)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(join(config, 'resolve')).mode & 0o777).toBe(0o700)

  const { instance_id: id } = JSON.parse((await run('run', 'hello', '-i', 'name=Ada', '--json')).stdout)
  expect((await over.run('instance', 'show', id)).code).toBe(0)
  expect((await run('instance', 'show', id, '--context', 'local')).code).toBe(6)

  const name = new URL(server.url).host
  const listed = JSON.parse((await run('context', 'list', '--json')).stdout)
  expect(listed.contexts).toEqual([
    { name: 'local', url: null, signed_in: true, used: false },
    { name, url: server.url, signed_in: true, used: true },
  ])
  expect((await run('context', 'list')).stdout).not.toContain(token)
  expect((await run('context', 'show')).stdout).toBe(`${server.url} (the config file)\n`)

  expect((await run('logout')).code).toBe(0)
  expect(readFileSync(path, 'utf8')).not.toContain(token)
  expect((await run('instance', 'list', '--json')).stdout).toContain('"instances": []')
})

test('a refused token, another program and a wrong address store nothing (R73)', async () => {
  const wrong = await here.with(
    { env: { XDG_CONFIG_HOME: config }, stdin: 'rslv_nonsense' },
    'login',
    server.url,
    '--token-stdin',
  )
  expect(wrong.code).toBe(4)
  expect(
    (await here.with({ env: { XDG_CONFIG_HOME: config }, stdin: '' }, 'login', server.url, '--token-stdin')).code,
  ).toBe(2)
  expect(
    (await here.with({ env: { XDG_CONFIG_HOME: config }, stdin: 'x' }, 'login', 'http://127.0.0.1:1', '--token-stdin'))
      .code,
  ).toBe(10)
  expect(
    (await here.with({ env: { XDG_CONFIG_HOME: config }, stdin: 'x' }, 'login', 'nowhere', '--token-stdin')).code,
  ).toBe(2)
  expect((await run('login', server.url)).stderr).toContain('--token-stdin')
  expect(existsSync(path)).toBe(false)
})

test('flags win over variables, these over the context in use; an error names the server (R73)', async () => {
  expect((await login('--name', 'build', '--no-use')).code).toBe(0)
  const where = async (env: Record<string, string>, ...args: string[]) =>
    (await here.with({ env: { XDG_CONFIG_HOME: config, ...env } }, 'instance', 'show', 'abcd', ...args)).stderr
  const named = `The server is ${server.url} (context build).`
  expect(await where({})).not.toContain('The server is')
  expect(await where({}, '--context', 'build')).toContain(named)
  expect(await where({ RESOLVE_CONTEXT: 'build' })).toContain(named)
  expect(await where({ RESOLVE_CONTEXT: 'build' }, '--context', 'local')).not.toContain('The server is')
  expect((await run('context', 'use', 'build')).code).toBe(0)
  expect(await where({})).toContain(named)
  expect(await where({ RESOLVE_CONTEXT: 'local' })).not.toContain('The server is')
  expect(await where({ RESOLVE_URL: 'http://127.0.0.1:1' })).toContain('The server is http://127.0.0.1:1.')
  expect(await where({ RESOLVE_URL: 'http://127.0.0.1:1' }, '--context', 'build')).toContain(named)
  expect(await where({}, '--server', 'http://127.0.0.1:1')).toContain('The server is http://127.0.0.1:1.')
  expect(await where({}, '--server', 'http://x', '--context', 'build')).toContain('not both')
  for (const before of [['--context', 'build'], ['--context=build']])
    expect((await run(...before, 'instance', 'show', 'abcd')).stderr).toContain(named)
  const suggested = async (...words: string[]) => (await inTime(() => run('__complete', '--', ...words))).stdout
  expect(await suggested('--context', 'local', 'inbo')).toMatch(/^inbox\t/)
  expect(await suggested('--context=local', 'instance', 'sho')).toMatch(/^show\t/)
  for (const words of [['--context'], ['context', 'use'], ['instance', 'list', '--context']])
    expect(await suggested(...words, 'bui')).toBe(`build\t${server.url}\n`)
  expect(await where({}, '--context', 'biuld')).toContain('Did you mean "build"?')

  const document = JSON.parse((await run('instance', 'show', 'abcd', '--json')).stdout)
  expect(document).toMatchObject({ schema: 'resolve.error/1', server: `${server.url} (context build)` })
  const refused = await run('token', 'list')
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('add --context local') })
  expect((await run('token', 'list', '--context', 'local')).code).toBe(0)
  expect((await run('context', 'remove', 'build')).code).toBe(0)
  expect(await where({})).not.toContain('The server is')
})

test('hints name the context, and commands that work where a context is in use (R73)', async () => {
  expect((await login('--name', 'build')).code).toBe(0)
  const scope = (await run('secret', 'list')).stderr
  expect(scope).toContain('"resolve token create --context local --scope admin" on the server\'s machine')
  expect(scope).toContain(`Then sign in with it: "resolve login ${server.url} --name build".`)
  const image = (await run('worker', 'build')).stderr
  expect(image).toContain('add --context local')
  writeFileSync(path, JSON.stringify({ context: 'old', contexts: { old: { url: server.url, token: 'rslv_unknown' } } }))
  expect((await run('instance', 'list')).stderr).toContain(
    `Sign in again: "resolve login ${server.url} --name old". "resolve token create --context local" on the server's machine`,
  )
  const bare = await run('instance', 'list', '--server', server.url)
  expect(bare.stderr).toContain(`Set RESOLVE_TOKEN, or sign in with "resolve login ${server.url}" and omit --server.`)
  const refused = await here.with({ stdin: 'rslv_unknown\n' }, 'login', server.url, '--token-stdin')
  expect([refused.code, refused.stderr]).toEqual([4, expect.not.stringContaining('RESOLVE_TOKEN')])
  expect(refused.stderr).toContain('"resolve token create" on the server\'s machine creates a token')
  writeFileSync(path, JSON.stringify({ context: 'dead', contexts: { dead: { url: 'http://127.0.0.1:1' } } }))
  expect((await run('instance', 'list')).stderr).toContain(
    'the address of the context "dead" is right, or use this machine: "resolve context use local".',
  )
  expect((await run('context', 'use', 'local')).code).toBe(0)
})

test('a stored token goes to its own server alone, and RESOLVE_TOKEN never to a context (R73)', async () => {
  expect((await login('--name', 'build')).code).toBe(0)
  const env = { XDG_CONFIG_HOME: config }
  expect((await here.with({ env: { ...env, RESOLVE_TOKEN: 'rslv_other' } }, 'instance', 'list')).code).toBe(0)
  expect((await here.with({ env }, 'instance', 'list', '--server', server.url)).code).toBe(4)
  expect((await run('logout', 'build')).code).toBe(0)
  expect(
    (await here.with({ env: { ...env, RESOLVE_TOKEN: token } }, 'instance', 'list', '--context', 'build')).code,
  ).toBe(4)
})

test('defaults of the config file hold where no flag is given (R73)', async () => {
  mkdirSync(join(config, 'resolve'))
  writeFileSync(path, JSON.stringify({ color: 'always', on_input: 'cancel' }), { mode: 0o600 })
  expect((await run('instance', 'show', 'abcd')).stderr).toContain('\u001b[')
  expect((await run('instance', 'show', 'abcd', '--color', 'never')).stderr).not.toContain('\u001b[')
})

test('a hostile or damaged config file is refused with its line, and quotes no token (R73)', async () => {
  const refused = (text: string) => {
    try {
      parseConfig(text, 'config.json')
    } catch (error) {
      return String((error as Error).message)
    }
    return 'accepted'
  }
  const url = 'http://x'
  for (const [text, sentence] of [
    ['{\n  "color": "auto",\n  oops\n}', 'line 3: it is not JSON'],
    ['[]', 'it is not a JSON object'],
    ['{\n\n "colour": "auto"}', 'line 3: there is no setting "colour"; did you mean "color"?'],
    ['{\n "color": "red"}', 'line 2: "color" must be one of'],
    ['{\n "on_input": 7}', 'line 2: "on_input" must be one of'],
    ['{\n "context": "gone"}', 'line 2: "context" must be'],
    ['{"context": "__proto__"}', '"context" must be'],
    [JSON.stringify({ contexts: { a: { url: 'javascript:alert(1)' } } }), 'the url of the context "a"'],
    [JSON.stringify({ contexts: { a: { url: 'http://user:secret@x' } } }), 'the url of the context "a"'],
    [
      JSON.stringify({ contexts: { a: { url, token: 'two\r\nlines' } } }),
      'the token of the context "a" is not a token',
    ],
    [JSON.stringify({ contexts: { a: { url, command: 'rm' } } }), 'has only "url" and "token"'],
    [JSON.stringify({ contexts: { local: { url } } }), `can't name a context`],
    [JSON.stringify({ contexts: { '../a': { url } } }), `can't name a context`],
    [JSON.stringify({ contexts: { 'a\u001b[31m': { url } } }), `can't name a context`],
    [
      JSON.stringify({ contexts: Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`c${n}`, { url }])) }),
      'more than 200',
    ],
  ] as const) {
    expect(refused(text)).toContain(sentence)
    expect(refused(text)).not.toMatch(/\u001b|lines|secret@/)
  }
  mkdirSync(join(config, 'resolve'))
  writeFileSync(path, '{\n"colour": 1}')
  expect(await run('instance', 'list')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('config.json, line 2: '),
  })
  expect((await run('completion', 'bash')).code).toBe(0)
  writeFileSync(path, '{}')
  chmodSync(path, 0o666)
  expect(await run('instance', 'list')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('other users may write it'),
  })
  chmodSync(path, 0o644)
  expect((await run('instance', 'list')).code).toBe(0)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  rmSync(path)
  symlinkSync('/dev/zero', path)
  expect(await run('instance', 'list')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('not a regular file'),
  })
})

test('an address that is refused is not repeated as the server: it may hold a password (R73)', async () => {
  for (const address of ['http://me:hunter2@127.0.0.1', 'me:hunter2@host:80', 'http://host/?token=hunter2']) {
    const { stdout, stderr } = await run('instance', 'list', '--json', '--server', address)
    expect(stdout + stderr).not.toContain('hunter2')
  }
})
