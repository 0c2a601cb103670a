/** `resolve serve`, built, as a person, a service manager and a crash treat it. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { InstanceRecord } from '../../src/core/index.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { eventsOf, storyOf } from '../support/instances.ts'
import { soundInstance } from '../support/invariants.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { doer, type Home, newHome } from './cli.ts'
import { client, type ServeProcess, signIn, spawnServe, startServe } from './serving.ts'

let place: Home
const running: ServeProcess[] = []

beforeEach(async () => {
  place = newHome()
  expect((await place.run('resolver', 'add', doer())).code).toBe(0)
})

afterEach(async () => {
  for (const one of running.splice(0)) {
    one.kill('SIGKILL')
    await one.ended
  }
  await place.end()
})

async function start(...args: string[]): Promise<ServeProcess> {
  const started = await startServe(place.home, args)
  running.push(started)
  return started
}

async function newToken(scope = 'admin'): Promise<string> {
  return (await place.run('token', 'create', '--scope', scope)).stdout.trim()
}

type Call = ReturnType<typeof client>

async function newInstance(call: Call, what: string, resolver = 'doer'): Promise<string> {
  const created = await call('POST', '/instances', { resolver, input: { do: what } })
  expect(created.status).toBe(202)
  return (created.body as InstanceRecord).instance_id
}

async function reaches(call: Call, id: string, status: string): Promise<void> {
  const look = async () => ((await call('GET', `/instances/${id}`)).body as InstanceRecord).status
  await expect.poll(look, { interval: 50 }).toBe(status)
}

/** Everything that lies in the home, as one text. */
function everythingIn(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n')
}

test('from the sign-in link to an answered question over HTTP; no token and no code is in any log or file (R37, R38, WEB-4)', async () => {
  const serve = await start()
  expect((await fetch(`${serve.url}/api/health`)).status).toBe(200)
  expect((await fetch(`${serve.url}/api/instances`)).status).toBe(401)
  expect((await fetch(`${serve.url}/api/metrics`)).status).toBe(401)

  const { token, scope } = (await (await signIn(serve)).json()) as { token: string; scope: string }
  expect(scope).toBe('admin')
  expect((await signIn(serve)).status).toBe(401)

  const call = client(serve.url, token)
  const id = await newInstance(call, 'ask')
  await reaches(call, id, 'awaiting_input')
  const stream = await fetch(`${serve.url}/api/instances/${id}/events?token=${token}`)
  expect((await fetch(`${serve.url}/api/instances/${id}?token=${token}`)).status).toBe(401)
  expect((await call('POST', `/instances/${id}/input-requests/gate-1`, { go: 'yes', why: 'ok' })).status).toBe(204)
  const streamed = await stream.text()
  expect(streamed).toContain('data: {"type":"done"}')
  expect(streamed.match(/^id: /gm)?.length).toBe(eventsOf(place.home, id).length)
  soundInstance(place.home, id)
  expect(String((await call('GET', '/metrics')).body)).toMatch(/^resolve_events_sent_total [1-9]/m)

  serve.kill('SIGTERM')
  expect(await serve.ended).toBe(0)
  const code = serve.link.split('#code=')[1] ?? ''
  const log = serve.stderr().replace(serve.link, '')
  expect(log).toContain(`"path":"/api/instances/${id}/events","route":"/api/instances/:id/events"`)
  for (const secret of [token, token.slice(-20), code]) {
    expect(log).not.toContain(secret)
    expect(serve.stdout()).not.toContain(secret)
    expect(everythingIn(place.home)).not.toContain(secret)
  }
})

test('after kill -9 in the middle of a run the next server adopts it, and the journal is exact (I1, I2)', {
  timeout: 60_000,
}, async () => {
  const ticks = plainResolver(
    `for (let n = 1; n <= 400; n += 1) { me.emit('plain.tick', { n }); if (n % 10 === 0) await sleep(50)
       while (n === 200 && !fs.existsSync(root + '/go-on')) await sleep(20) }
     me.finish({ status: 'completed', output: 'all said' })`,
  )
  expect((await place.run('resolver', 'add', ticks.dir)).code).toBe(0)
  const token = await newToken()
  const first = await start()
  const id = await newInstance(client(first.url, token), '-', 'plain')
  await expect.poll(() => eventsOf(place.home, id).length).toBeGreaterThan(50)
  first.kill('SIGKILL')
  expect(await first.ended).toBe('SIGKILL')
  writeFileSync(join(instancePaths(place.home, id).project, '.resolve', 'go-on'), '')
  const second = await start()
  await second.said(`${id} had no host: adopted.`)
  await reaches(client(second.url, token), id, 'completed')
  const numbers = eventsOf(place.home, id).flatMap(({ event }) =>
    event.event_type === 'plain.tick' ? [event.data['n']] : [],
  )
  expect(numbers).toEqual(Array.from({ length: 400 }, (_, index) => index + 1))
  soundInstance(place.home, id)
})

test('SIGTERM ends the server and no instance: it prints how many go on, and the next server adopts them', async () => {
  const token = await newToken()
  const first = await start()
  const call = client(first.url, token)
  const ids = [await newInstance(call, 'ask'), await newInstance(call, 'ask')]
  for (const id of ids) await reaches(call, id, 'awaiting_input')
  first.kill('SIGTERM')
  expect(await first.ended).toBe(0)
  expect(first.stderr()).toContain(
    '2 instances continue without a host. The next serve, or a command that needs them, adopts them.',
  )
  expect(ids.map((id) => storyOf(place.home, id).status)).toEqual(['awaiting_input', 'awaiting_input'])

  const second = await start()
  for (const id of ids) await second.said(`${id} had no host: adopted.`)
  const again = client(second.url, token)
  for (const id of ids) {
    await again('POST', `/instances/${id}/input-requests/gate-1`, { go: 'yes', why: 'ok' })
    await reaches(again, id, 'completed')
    soundInstance(place.home, id)
  }
})

test('a local command answers a question of an instance that a server hosts, and adopts it when the server is gone', async () => {
  const token = await newToken()
  const serve = await start()
  const call = client(serve.url, token)
  const [hosted, left] = [await newInstance(call, 'ask'), await newInstance(call, 'ask')]
  for (const id of [hosted, left]) await reaches(call, id, 'awaiting_input')
  expect(await place.run('instance', 'answer', hosted, 'gate-1', '-i', 'go=yes', '-i', 'why=cli')).toMatchObject({
    code: 0,
  })
  await reaches(call, hosted, 'completed')
  serve.kill('SIGINT')
  expect(await serve.ended).toBe(0)
  expect(serve.stderr()).toContain('1 instance continues without a host')
  expect(await place.run('instance', 'answer', left, 'gate-1', '-i', 'go=yes', '-i', 'why=cli')).toMatchObject({
    code: 0,
  })
  expect((await place.run('instance', 'wait', left)).code).toBe(0)
})

test('two servers share a home: each answers for instances of the other, and adopts them when the other is killed', async () => {
  const token = await newToken()
  const [one, two] = [await start(), await start()]
  const [first, second] = [client(one.url, token), client(two.url, token)]
  const [answered, adopted] = [await newInstance(first, 'ask'), await newInstance(first, 'ask')]
  for (const id of [answered, adopted]) await reaches(second, id, 'awaiting_input')
  expect((await second('POST', `/instances/${answered}/input-requests/gate-1`, { go: 'no', why: 'b' })).status).toBe(
    204,
  )
  await reaches(first, answered, 'completed')
  one.kill('SIGKILL')
  await two.said(`${adopted} had no host: adopted.`)
  expect((await second('POST', `/instances/${adopted}/input-requests/gate-1`, { go: 'no', why: 'b' })).status).toBe(204)
  await reaches(second, adopted, 'completed')
  for (const id of [answered, adopted]) soundInstance(place.home, id)
})

test('a resolver that is added while the server runs is listed at once (S-SVC-20)', async () => {
  const serve = await start()
  const call = client(serve.url, await newToken())
  expect((await place.run('resolver', 'add', plainResolver(`me.finish({ status: 'completed' })`).dir)).code).toBe(0)
  await reaches(call, await newInstance(call, 'x', 'plain'), 'completed')
  await serve.said('The catalog changed')
})

test('an address that others can reach is refused without a token, exit code 2 (R38, WEB-3)', async () => {
  for (const host of ['0.0.0.0', '::', '192.0.2.7']) {
    const refused = spawnServe(place.home, ['--host', host, '--port', '0'])
    expect(await refused.ended).toBe(2)
    expect(refused.stderr()).toContain('resolve token create')
    expect(refused.stdout()).toBe('')
  }
  const token = await newToken('read')
  const serve = await start('--host', '0.0.0.0', '--allowed-host', 'build.example.com')
  const { port } = new URL(serve.url)
  expect((await client(serve.url, token)('GET', '/instances')).status).toBe(200)
  const asked = (host: string) =>
    raw(Number(port), `GET /api/health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  expect(await asked('build.example.com')).toContain('HTTP/1.1 200')
  expect(await asked('evil.example.com')).toContain('HTTP/1.1 421')
})

test('--json prints one line with the address and the link', async () => {
  const serve = spawnServe(place.home, ['--port', '0', '--json'])
  while (!serve.stdout().includes('\n')) await serve.news()
  const document = JSON.parse(serve.stdout())
  expect(document).toEqual({
    schema: 'resolve.serve/1',
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    sign_in: expect.any(String),
  })
  expect((await signIn({ url: document.url, link: document.sign_in })).status).toBe(200)
  serve.kill('SIGHUP')
  expect(await serve.ended).toBe(0)
  expect(serve.stdout().trimEnd().split('\n')).toHaveLength(1)
  expect(serve.stderr()).not.toContain('#code=')
})

test.each([
  [['--port', '70000'], {}, 2],
  [['--port', 'x'], {}, 2],
  [['--allowed-host', 'a b'], {}, 2],
  [['--server', 'http://127.0.0.1:1'], {}, 2],
  [[], { RESOLVE_LOG: 'loud' }, 2],
  [[], { RESOLVE_HOME: '/proc/nowhere' }, 10],
] as const)('serve %s %s ends with %s and a sentence', async (args, env, code) => {
  const refused = spawnServe(place.home, ['--json', ...args], env)
  expect(await refused.ended).toBe(code)
  expect(JSON.parse(refused.stdout())).toMatchObject({ schema: 'resolve.error/1', exit_code: code })
  expect(refused.stderr().trimEnd().split('\n')).toHaveLength(1)
})

test('a port in use is exit code 10, and leaves no token behind', async () => {
  const busy = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => busy.once('listening', resolve))
  const { port } = busy.address() as { port: number }
  const refused = spawnServe(place.home, ['--port', String(port)])
  expect(await refused.ended).toBe(10)
  busy.close()
  expect(refused.stderr()).toContain('another program listens on it')
  expect(refused.stderr()).toContain('--port')
  expect(JSON.parse((await place.run('token', 'list', '--json')).stdout).tokens).toEqual([])
})

test('a second signal ends the server at once', async () => {
  const serve = await start()
  // A request that never comes to its end holds the first one up.
  const socket = connect(Number(new URL(serve.url).port), '127.0.0.1')
  const token = await newToken()
  socket.on('error', () => {})
  socket.write(
    `POST /api/instances HTTP/1.1\r\nHost: ${new URL(serve.url).host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n`,
  )
  // The server has begun with it.
  expect(String((await once(socket, 'data'))[0])).toContain('HTTP/1.1 100')
  socket.write('{')
  const before = performance.now()
  serve.kill('SIGTERM')
  await serve.said('Shutting down')
  serve.kill('SIGTERM')
  expect(await serve.ended).toBe(143)
  expect(performance.now() - before).toBeLessThan(4_000)
})

test('-q logs only warnings and errors unless RESOLVE_LOG is set', async () => {
  const quiet = await start('-q')
  await fetch(`${quiet.url}/api/health`)
  quiet.kill('SIGTERM')
  await quiet.ended
  expect(quiet.stderr()).not.toContain('"method"')
})

test('--open hands the link to the browser in a file that only its reader can see', async () => {
  const bin = mkdtempSync(join(tmpdir(), 'resolve-bin-'))
  mkdirSync(bin, { recursive: true })
  writeFileSync(
    join(bin, 'xdg-open'),
    `#!/bin/sh\necho "$1" > ${bin}/asked.tmp\nstat -c %a "$1" > ${bin}/mode\ncat "$1" > ${bin}/page\nmv ${bin}/asked.tmp ${bin}/asked\n`,
  )
  chmodSync(join(bin, 'xdg-open'), 0o755)
  const serve = await startServe(place.home, ['--open'], { PATH: `${bin}:${process.env['PATH']}` })
  running.push(serve)
  await expect.poll(() => readdirSync(bin)).toContain('asked')
  expect(readFileSync(join(bin, 'asked'), 'utf8')).not.toContain('code=')
  expect(readFileSync(join(bin, 'page'), 'utf8')).toContain(serve.link)
  expect(readFileSync(join(bin, 'mode'), 'utf8').trim()).toBe('600')
})

function raw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    let heard = ''
    socket.on('data', (chunk) => {
      heard += chunk
    })
    socket.on('close', () => resolve(heard))
    socket.on('error', reject)
  })
}

/** The port on which a process listens; 0 where it does not listen yet. */
function listeningPort(pid: number | undefined): number {
  const folder = `/proc/${pid}/fd`
  const sockets = new Set(
    readdirSync(folder).map((name) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(join(folder, name)))?.[1]
      } catch {
        return undefined
      }
    }),
  )
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)
  for (const [, address, , state, , , , , , inode] of rows.map((row) => row.trim().split(/\s+/)))
    if (state === '0A' && sockets.has(inode)) return Number.parseInt(address?.split(':')[1] ?? '0', 16)
  return 0
}

test.skipIf(process.platform !== 'linux')(
  'serve goes on where its own stdout and stderr lie on a full disk (reliability F28)',
  async () => {
    const full = openSync('/dev/full', 'w')
    const program = join(import.meta.dirname, '..', '..', 'bin', 'run.js')
    const child = spawn(process.execPath, [program, 'serve', '--port', '0'], {
      env: { ...process.env, CI: '', RESOLVE_HOME: place.home },
      stdio: ['ignore', full, full],
    })
    const ended = once(child, 'exit')
    closeSync(full)
    // It can't tell its port.
    const status = () =>
      fetch(`http://127.0.0.1:${listeningPort(child.pid)}/api/health`).then(
        ({ status: code }) => code,
        () => 0,
      )
    try {
      await expect.poll(status).toBe(200)
      for (let n = 0; n < 20; n += 1) expect(await status()).toBe(200)
    } finally {
      child.kill('SIGTERM')
    }
    expect(await ended).toEqual([0, null])
  },
)

// verifies: R11
test('the same Idempotency-Key at two servers of one home makes one instance, and both answer with it', async () => {
  const setup = `me.on['resolver.getWorkspaceSpec'] = () => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700); return null }`
  const { dir } = plainResolver(`me.finish({ status: 'completed' })`, { name: 'slow' }, setup)
  expect((await place.run('resolver', 'add', dir)).code).toBe(0)
  const servers = [await start('--port', '0'), await start('--port', '0')]
  const token = await newToken()
  for (let round = 0; round < 3; round += 1) {
    const answers = await Promise.all(
      servers.map(async ({ url }) => {
        const answer = await fetch(`${url}/api/instances`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            'idempotency-key': `twice-${round}`,
          },
          body: JSON.stringify({ resolver: 'slow', input: {} }),
        })
        return { status: answer.status, body: (await answer.json()) as InstanceRecord }
      }),
    )
    expect(answers.map(({ status }) => status)).toEqual([202, 202])
    expect(answers[0]?.body.instance_id).toBe(answers[1]?.body.instance_id)
  }
})

const canUnshare = spawnSync('unshare', ['-m', 'true']).status === 0

test.skipIf(!canUnshare)('a run goes on where another user took the name of the socket directory in /tmp', () => {
  const home = mkdtempSync('/var/tmp/resolve-sockets-')
  const program = join(import.meta.dirname, '..', '..', 'bin', 'run.js')
  const script =
    'at=/tmp/resolve-$(id -u); mkdir -p -m 700 $at && mount -t tmpfs tmpfs $at && chown 65534 $at && exec "$0" "$1" run hello -i name=Ada'
  const env = { ...process.env, CI: '', RESOLVE_HOME: join(home, 'home'), TMPDIR: '/tmp' }
  delete (env as NodeJS.ProcessEnv)['XDG_RUNTIME_DIR']
  try {
    const ran = spawnSync('unshare', ['-m', 'sh', '-c', script, process.execPath, program], { env, encoding: 'utf8' })
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 })
    expect(ran.stdout).toContain('Hello, Ada!')
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})
