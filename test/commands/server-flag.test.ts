/** Commands under `--server` and RESOLVE_URL: as on this machine, with the errors of a server, and none of what is this machine's alone. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Served, serve } from '../support/served.ts'
import { doer, type Ended, type Home, lastLine, newHome } from './cli.ts'

// A hundred commands one after the other.
vi.setConfig({ testTimeout: 240_000 })

/** Where the same commands are given without a server, where the server's home is, and where the client is, with nothing in it. */
let local: Home
let over: Home
let client: Home
let served: Served
let token: string

beforeAll(async () => {
  ;[local, over, client] = [newHome(), newHome(), newHome()]
  const resolver = doer()
  for (const place of [local, over]) expect((await place.run('resolver', 'add', resolver)).code).toBe(0)
  served = await serve(over.home)
  token = await served.token()
})

afterAll(async () => {
  await served.close()
  for (const place of [local, over, client]) await place.end()
})

const remote = (...args: string[]) => client.with({ env: { RESOLVE_TOKEN: token } }, ...args, '--server', served.url)

/** What differs from run to run and from machine to machine, and the flag that hints carry. */
function same({ code, stdout }: Ended): { code: number | null; stdout: string } {
  const plain = stdout
    .replaceAll(` --server ${served.url}`, '')
    // The document of an error names the server (R73).
    .replaceAll(` "server": "${served.url}",\n`, '')
    .replace(/\b[0-9a-f]{12}\b/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z|\d\d:\d\d:\d\d\.\d{3}/g, '<time>')
    .replace(/"(dir|source)": (?:null|"\/[^"]*")/g, '"$1": "<place>"')
    .replace(/("[a-z_]*(?:_ms|_s|seq|pid|lastSeq)"): ?[\d.]+/g, '$1: 0')
    // Whether a question or the event before it is found first is the monitor's luck, on either side.
    .replace(/"phase": (?:null|"doing")/g, '"phase": "<phase>"')
    .replace(/ *\b(?:\d+[smhd]|now)\b/g, '<age>')
    // A host that hands over, here, leaves its event; a server has no need to.
    .replace(/"count": \d+/g, '"count": 0')
    .replace(/ +/g, ' ')
  return { code, stdout: plain }
}

/** What differs; undefined where nothing does. */
async function difference(code: number, args: string[]): Promise<object | undefined> {
  const [here, there] = await Promise.all([local.run(...args), remote(...args)])
  // Such a command returns before the instance runs.
  if (args.includes('--detach')) await Promise.all([local, over].map((place) => place.reaches('@last', 'running')))
  const [wanted, found] = [same(here), same(there)]
  if (here.code === code && wanted.code === found.code && wanted.stdout === found.stdout) return undefined
  const lines = [wanted, found].map(({ stdout }) => stdout.split('\n'))
  const only = (at: 0 | 1) => lines[at]?.filter((line) => !lines[1 - at]?.includes(line))
  const codes = [code, here.code, there.code]
  return { words: args.join(' '), codes, here: only(0), there: only(1), said: [here.stderr, there.stderr] }
}

test('every command prints and exits as it does without a server', async () => {
  const steps: [number, string][] = [
    [0, 'instance list --json'],
    [0, 'resolver show doer --json'],
    [0, 'resolver schema doer --json'],
    [0, 'resolver schema doer --example'],
    [6, 'resolver show nobody --json'],
    [5, 'run doer -i count=many --json'],
    [5, 'run doer --dry-run --json'],
    [0, 'run doer -i do=nothing --dry-run --json'],
    [0, 'run doer -i do=nothing --json'],
    [0, 'run doer -i do=nothing'],
    [1, 'run doer -i do=fail --json'],
    [0, 'instance explain @last --json'],
    [0, 'run doer -i do=data --name files'],
    [0, 'instance state @last --path /plan/0/title'],
    [6, 'instance state @last --path /none --json'],
    [0, 'instance data @last deep/report.md'],
    [6, 'instance data @last nothing.md --json'],
    [2, 'instance data @last ../config.json'],
    [0, 'instance events @last --type resolver:*'],
    [0, 'instance wait @last --json'],
    [0, 'watch @last'],
    [7, 'instance stop @last --json'],
    [8, 'run doer -i do=ask --json'],
    [0, 'inbox'],
    [0, 'instance answer @last --list --json'],
    [6, 'instance answer @last nothing -i why=x --json'],
    [5, 'instance answer @last gate-1 -i go=yes --json'],
    [0, 'instance message @last --list --json'],
    [5, 'instance message @last note --json'],
    [0, 'instance message @last note -i text=hello --json'],
    [0, 'instance answer @last gate-1 -i go=yes -i why=so --json'],
    [0, 'instance wait @last'],
    [7, 'instance answer @last gate-1 -i go=yes -i why=so'],
    [7, 'instance answer @last -i go=yes --json'],
    [0, 'instance show @last --events 0 --json'],
    [9, 'run doer -i do=pause'],
    [0, 'instance resume @last'],
    [0, 'run doer -i do=sleep --detach --name sleeper'],
    [0, 'instance pause @last'],
    [0, 'instance resume @last --detach'],
    [0, 'instance stop @last --reason enough'],
    [0, 'run doer -i do=sleep --detach'],
    [0, 'instance cancel @last'],
    [3, 'instance wait @last'],
    [124, 'run doer -i do=sleep --timeout 1s'],
    [0, 'instance stop @last --force'],
    [6, 'instance show ffff --json'],
    [0, 'instance prune --older-than 1d --yes --json'],
    [0, 'instance list'],
  ]
  const differences: object[] = []
  for (const [code, words] of steps) {
    const found = await difference(code, words.split(' '))
    if (found !== undefined) differences.push(found)
  }
  expect(differences).toEqual([])
})

test('events and archives arrive complete', async () => {
  const { stdout: id } = await remote('run', 'doer', '-i', 'do=nothing', '--detach')
  const lines = (await remote('instance', 'events', id.trim(), '--follow', '--jsonl')).stdout
  const journal: string[] = []
  for await (const { text } of served.platform.events(id.trim())) journal.push(text)
  expect(lines.trimEnd().split('\n')).toEqual(journal)
  const archive = `${client.home}.tar.gz`
  expect((await remote('instance', 'export', id.trim(), '-o', archive)).code).toBe(0)
})

test('resolvers are listed as the server has them', async () => {
  const names = ({ stdout }: Ended) =>
    (JSON.parse(stdout) as { resolvers: { name: string }[] }).resolvers.map((one) => one.name)
  expect(names(await remote('resolver', 'list', '--json'))).toContain('doer')
  expect(names(await client.run('resolver', 'list', '--json'))).not.toContain('doer')
})

test('suggested commands carry --server if the flag was given, and not if the variable is set', async () => {
  const next = ({ stdout }: Ended) => (JSON.parse(stdout) as { next: string[] }).next
  const flagged = next(await remote('run', 'doer', '-i', 'do=ask', '--json'))
  expect(flagged[0]).toMatch(/^resolve instance answer [0-9a-f]{12} gate-1 .* --server http:\/\/127\.0\.0\.1:\d+$/)
  const env = { RESOLVE_TOKEN: token, RESOLVE_URL: `${served.url}/` }
  const shown = await client.with({ env }, 'instance', 'show', '@last', '--json')
  expect(shown.code).toBe(0)
  expect(next(shown).join('\n')).not.toContain('--server')
  expect((await remote('instance', 'cancel', '@last')).code).toBe(0)
})

// verifies: R1-SERVER
test('the flag wins over the variable and may precede the noun; an empty variable is ignored', async () => {
  const env = { RESOLVE_TOKEN: token, RESOLVE_URL: 'http://127.0.0.1:1' }
  expect((await client.with({ env }, '--server', served.url, 'instance', 'list', '--json')).code).toBe(0)
  const empty = await client.with({ env: { RESOLVE_URL: '' } }, 'instance', 'list', '--json')
  expect(JSON.parse(empty.stdout)).toMatchObject({ instances: [] })
})

// verifies: S-AUTH-01 R37
test('a missing or wrong token or too small a scope ends with exit code 4, and the token is never shown (R37, R38)', async () => {
  const bad = 'rslv_00000000_secretsecretsecretsecretsecretsecretsecretse'
  const read = await served.token('read')
  for (const [given, ...words] of [
    ['', 'instance', 'list'],
    [bad, 'instance', 'list'],
    [bad, 'watch', '@last'],
    [read, 'run', 'doer', '-i', 'do=nothing'],
  ] as const) {
    for (const flags of [['--json'], ['--debug']]) {
      const env = { RESOLVE_TOKEN: given }
      const { code, stdout, stderr } = await client.with({ env }, ...words, '--server', served.url, ...flags)
      expect(code, `${words.join(' ')}\n${stderr}`).toBe(4)
      if (flags[0] === '--json') expect(JSON.parse(stdout)).toMatchObject({ exit_code: 4 })
      if (given !== '') expect(stdout + stderr).not.toContain(given)
    }
  }
  // Looking takes no more than the scope to read.
  expect((await client.with({ env: { RESOLVE_TOKEN: read } }, 'watch', '@last', '--server', served.url)).code).not.toBe(
    4,
  )
})

test('no server, or another program at the address, ends with exit code 10 and a sentence that says which', async () => {
  const said: Record<string, RequestListener> = {
    'a page': (_, answer) => answer.setHeader('content-type', 'text/html').end('<html></html>'),
    'other JSON': (_, answer) => answer.end('{"hello":"world"}'),
    'an error of others': (_, answer) => answer.writeHead(500).end('{"error":"no"}'),
    'a way elsewhere': (_, answer) => answer.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    'a broken line': (_, answer) => answer.destroy(),
  }
  const ask = (url: string) =>
    client.with({ env: { RESOLVE_TOKEN: token } }, 'instance', 'list', '--json', '--server', url)
  for (const [what, listener] of Object.entries(said)) {
    const server = createServer(listener)
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const { code, stdout } = await ask(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    server.closeAllConnections()
    server.close()
    expect(code, what).toBe(10)
    expect(JSON.parse(stdout).error.code, what).toBe(what === 'a broken line' ? 'server_unreachable' : 'server_strange')
  }
  const unreachable = await ask('http://127.0.0.1:1')
  expect(unreachable.code).toBe(10)
  expect(JSON.parse(unreachable.stdout).error.message).toBe(
    "Can't reach the server at http://127.0.0.1:1: the connection was refused.",
  )
  expect((await ask('http://no-such-host.invalid')).code).toBe(10)
  expect((await ask(served.url.replace('http:', 'https:'))).code).toBe(10)
})

test('commands that work on this machine only refuse a server with exit code 2', async () => {
  const env = { RESOLVE_URL: served.url, RESOLVE_TOKEN: token }
  for (const words of ['resolver update', 'doctor', 'token list', 'token create']) {
    const flagged = await client.run(...words.split(' '), '--server', served.url, '--json')
    expect(flagged.code, words).toBe(2)
    expect(JSON.parse(flagged.stdout).error.message, words).toContain('works on this machine only')
    const named = await client.with({ env }, ...words.split(' '), '--json')
    expect(named.code, words).toBe(2)
    expect(JSON.parse(named.stdout).error.message, words).toContain('RESOLVE_URL')
  }
  expect((await client.run('completion', 'bash', '--server', served.url)).code).toBe(2)
  expect((await client.with({ env }, 'completion', 'bash')).code).toBe(0)
})

test('an invalid address, or one with a password, is refused without being repeated', async () => {
  for (const url of ['ftp://x', 'no url', 'http://me:hunter2@127.0.0.1', 'http://127.0.0.1?token=hunter2', '']) {
    const { code, stdout, stderr } = await client.run('instance', 'list', '--json', '--server', url)
    expect(code, url).toBe(2)
    expect(stdout + stderr).not.toContain('hunter2')
  }
})

test('sending a token unencrypted to another machine is warned of once, to loopback not at all', async () => {
  const env = { RESOLVE_TOKEN: token }
  const away = await client.with({ env }, 'instance', 'list', '--json', '--server', 'http://no-such-host.invalid')
  expect(away.stderr.match(/is sent unencrypted/g)).toHaveLength(1)
  expect((await remote('instance', 'list')).stderr).not.toContain('unencrypted')
})

test('Ctrl-C and signals leave an instance to its server', async () => {
  const words = ['run', 'doer', '-i', 'do=sleep', '--name', 'signalled', '--server', served.url, '--jsonl']
  const started = client.start({ RESOLVE_TOKEN: token }, ...words)
  const find = async () =>
    (await served.platform.list({ status: ['running'] })).records.find((one) => one.name === 'signalled')
  await expect.poll(find).toBeDefined()
  const id = (await find())?.instance_id as string
  await started.said('"to":"running"')
  started.kill('SIGTERM')
  const { code, stdout } = await started.ended
  expect(code).toBe(143)
  expect(lastLine(stdout)['instance']).toMatchObject({ instance_id: id, status: 'running' })
  expect((await served.platform.record(id)).status).toBe('running')
  expect(await served.platform.hasHost(id)).toBe(true)
  expect((await remote('instance', 'stop', id)).code).toBe(0)
})

test('hints and documents carry --server if the flag was given, and the id if it is known', async () => {
  const { stdout: started } = await remote('run', 'doer', '-i', 'do=pause', '--json')
  const { instance_id: id } = JSON.parse(started) as { instance_id: string }
  const { code, stdout, stderr } = await remote('instance', 'pause', id, '--json')
  expect(code, stderr).toBe(7)
  const hint = `"resolve instance resume ${id} --server ${served.url}" continues it.`
  expect(JSON.parse(stdout)).toMatchObject({ instance_id: id, error: { hint } })
  expect((await remote('instance', 'pause', id)).stderr).toContain(hint)
  const env = { RESOLVE_TOKEN: token, RESOLVE_URL: served.url }
  const named = await client.with({ env }, 'instance', 'pause', id)
  expect(named.stderr).toContain(`"resolve instance resume ${id}" continues it.`)
  const unknown = JSON.parse((await remote('instance', 'show', 'ffff', '--json')).stdout) as object
  expect(unknown).toMatchObject({ error: { hint: `See "resolve instance list --server ${served.url}".` } })
  expect(unknown).not.toHaveProperty('instance_id')
  const file = await remote('instance', 'data', id, 'nothing.md')
  expect(file.stderr).toContain(`See "resolve instance data ${id} --server ${served.url}".`)
  expect((await remote('instance', 'cancel', id)).code).toBe(0)
})

test('an answer without an open question ends with exit code 7 and the status of the instance (R25)', async () => {
  const { stdout: started } = await remote('run', 'doer', '-i', 'do=nothing', '--json')
  const { instance_id: id } = JSON.parse(started) as { instance_id: string }
  const { code, stdout } = await remote('instance', 'answer', id, '-i', 'go=yes', '--json')
  expect(code).toBe(7)
  expect(JSON.parse(stdout)).toMatchObject({
    instance_id: id,
    error: { code: 'invalid_state', message: `Instance ${id} is completed and has no open question.` },
    next: [`resolve instance show ${id} --server ${served.url}`],
  })
})

test('explain with a read token prints everything but stderr, and says so', async () => {
  const env = { RESOLVE_TOKEN: await served.token('read') }
  const { stdout: started } = await remote('run', 'doer', '-i', 'do=fail', '--json')
  const { instance_id: id } = JSON.parse(started) as { instance_id: string }
  const words = ['instance', 'explain', id, '--server', served.url]
  const { code, stdout, stderr } = await client.with({ env }, ...words)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('It failed: It broke')
  expect(stdout).toContain('(stderr needs the scope run)')
  const told = JSON.parse((await client.with({ env }, ...words, '--json')).stdout) as object
  expect(told).toMatchObject({ status: 'failed', stderr: [], stderr_needs: 'run' })
  const whole = await remote('instance', 'explain', id, '--json')
  expect(JSON.parse(whole.stdout)).toMatchObject({ stderr_needs: null })
})

test('a nearly valid address is refused with the corrected one', async () => {
  const said = async (url: string) => (await client.run('instance', 'list', '--server', url)).stderr
  expect(await said('localhost:10120')).toContain('Did you mean http://localhost:10120?')
  expect(await said('127.0.0.1:10120')).toContain('Did you mean http://127.0.0.1:10120?')
  expect(await said(`${served.url}/api`)).toContain('leave out /api')
  expect(await said(`${served.url}/api/`)).toContain('leave out /api')
  expect(await said('me:hunter2@host:80')).not.toContain('hunter2')
})
