/** A home that is damaged is served all the same: what is broken is named, the rest goes on (reliability F22; threats FS-9). */
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { endWorkerProcesses } from '../../src/core/host/ingest/instance-files.ts'
import { startBackgroundHost } from '../../src/core/host/process/reach.ts'
import type { InstanceRecord } from '../../src/core/index.ts'
import { openTokens } from '../../src/core/index.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import { type Serving, startServing } from '../../src/server/serve.ts'
import { created, ranToEnd, temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'

const BUILTINS = join(import.meta.dirname, '..', '..', 'dist', 'resolvers')

/** Two that have ended, one that is paused, one whose host and worker are gone. */
let template: string
let done: string
let other: string
let paused: string
let lost: string
let token: string
const homes: string[] = []

beforeAll(async () => {
  template = temporaryHome()
  const finishes = plainResolver(
    `me.emit('plain.tick', { text: 'ä' }); me.finish({ status: 'completed', output: 'fine' })`,
  )
  done = (await ranToEnd(template, finishes)).id
  other = (await ranToEnd(template, finishes)).id
  paused = (await ranToEnd(template, plainResolver(`me.finish({ status: 'paused' })`, { supports_resume: true }))).id
  lost = await created(template, plainResolver(`await me.ask('q', 'Go on?')`))
  await startBackgroundHost(template, lost)
  await until(template, lost, (story) => story.status === 'awaiting_input')
  process.kill(readOwner(instancePaths(template, lost).owners)?.process.pid as number, 'SIGKILL')
  await endWorkerProcesses(instancePaths(template, lost))
  const platform = await platformOn(template)
  await platform.resolvers()
  await platform.close()
  token = (await openTokens(template).create({ scope: 'admin' })).token
})

afterEach(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
})

afterAll(() => rmSync(template, { recursive: true, force: true }))

interface Running extends Serving {
  home: string
  lines: string[]
  get(path: string): Promise<{ status: number; body: unknown }>
  said(part: string): Promise<void>
}

function copyOfHome(): string {
  const home = temporaryHome()
  homes.push(home)
  // A FIFO can't be copied, and the worker it belonged to is gone.
  cpSync(template, home, { recursive: true, filter: (path) => !statSync(path).isFIFO() })
  return home
}

async function serve(home: string): Promise<Running> {
  const lines: string[] = []
  const serving = await startServing({
    ...{ home, builtins: BUILTINS, host: '127.0.0.1', port: 0, version: '0.0.0', env: {} },
    log: { write: (line) => lines.push(line) },
  })
  return {
    ...serving,
    home,
    lines,
    async get(path) {
      const response = await fetch(`${serving.url}/api${path}`, { headers: { authorization: `Bearer ${token}` } })
      const text = await response.text()
      return { status: response.status, body: /^[[{]/.test(text) ? JSON.parse(text) : text }
    },
    said: (part) => expect.poll(() => lines.join('')).toContain(part),
  }
}

function replaceByDirectory(path: string): void {
  rmSync(path, { recursive: true, force: true })
  mkdirSync(join(path, 'planted'), { recursive: true })
}

function replaceByFile(path: string): void {
  rmSync(path, { recursive: true, force: true })
  writeFileSync(path, 'planted')
}

type Damage = (path: string) => void
const garbage: Damage = (path) => writeFileSync(path, '\u0000\ufffdgarbage{')
const empty: Damage = (path) => truncateSync(path, 0)
const half: Damage = (path) => truncateSync(path, Math.floor(statSync(path).size / 2))

/** What a damage to the instance `done` leaves of it: its record, or nothing. The others are as they were in any case. */
const instances: [string, (of: ReturnType<typeof instancePaths>) => void, 'whole' | 'broken'][] = [
  ['record.json is garbage', ({ record }) => garbage(record), 'whole'],
  ['record.json is empty', ({ record }) => empty(record), 'whole'],
  ['record.json is cut', ({ record }) => half(record), 'whole'],
  ['record.json is a directory', ({ record }) => replaceByDirectory(record), 'whole'],
  ['the journal has a torn tail', ({ journal }) => appendFileSync(journal, '99\t-\t{"schema_ver'), 'whole'],
  ['owners holds garbage', ({ owners }) => garbage(join(owners, '1.json')), 'whole'],
  ['owners holds a directory', ({ owners }) => replaceByDirectory(join(owners, '7.json')), 'whole'],
  ['owners is a file', ({ owners }) => replaceByFile(owners), 'whole'],
  ['the mailbox of an earlier layout is a file', ({ root }) => replaceByFile(join(root, 'mailbox')), 'whole'],
  ['worker.json is garbage', ({ worker }) => garbage(worker), 'whole'],
  ['the project is gone', ({ project }) => rmSync(project, { recursive: true }), 'whole'],
  [
    'a private line of the journal is garbage, and the record lost',
    ({ journal, record }) => {
      writeFileSync(journal, readFileSync(journal, 'utf8').replace(/^p\t.*$/m, 'p\t\u0000garbage'))
      rmSync(record)
    },
    'whole',
  ],
  [
    'journal and record are garbage',
    ({ journal, record }) => {
      garbage(journal)
      garbage(record)
    },
    'broken',
  ],
  [
    'the journal is garbled in the middle, and the record lost',
    ({ journal, record }) => {
      const lines = readFileSync(journal, 'utf8').split('\n')
      lines[2] = '\u0000garbage'
      writeFileSync(journal, lines.join('\n'))
      rmSync(record)
    },
    'broken',
  ],
  [
    'the journal is empty, and the record lost',
    ({ journal, record }) => {
      empty(journal)
      rmSync(record)
    },
    'broken',
  ],
  [
    'the journal is a directory, and the record lost',
    ({ journal, record }) => {
      replaceByDirectory(journal)
      rmSync(record)
    },
    'broken',
  ],
]

test.each(instances)('%s: the server starts and serves the rest (F22)', async (_, damage, left) => {
  const home = copyOfHome()
  damage(instancePaths(home, done))
  const running = await serve(home)
  try {
    if (left === 'broken') {
      await running.said(`${done} can't be read and is put aside`)
      expect((await running.get('/health')).body).toEqual({ status: 'degraded' })
      const row = ((await running.get('/doctor')).body as { check: string; state: string; message: string }[]).find(
        ({ check, state }) => check === 'journals' && state === 'failed',
      )
      expect(row?.message).toContain(done)
    } else {
      expect(await running.get(`/instances/${done}`)).toMatchObject({ status: 200, body: { output: 'fine' } })
    }
    const { records, status } = await list(running)
    expect(status).toBe(200)
    const shown = records.map(({ instance_id }) => instance_id)
    expect(shown.toSorted()).toEqual([...(left === 'whole' ? [done] : []), other, paused, lost].toSorted())
    expect(await running.get(`/instances/${other}`)).toMatchObject({ status: 200, body: { output: 'fine' } })
    await running.said(`${lost} had no host: adopted.`)
  } finally {
    await running.close()
  }
})

test('an ended instance with damaged private lines can be read and renamed; doctor tells of them (F22)', async () => {
  const home = copyOfHome()
  const { journal, record } = instancePaths(home, done)
  const lines = readFileSync(journal, 'utf8').split('\n')
  const damaged = lines.filter((line) => line.startsWith('p\t')).length
  expect(damaged).toBeGreaterThan(0)
  const half = (line: string) => line.slice(0, Math.floor(line.length / 2))
  writeFileSync(journal, lines.map((line) => (line.startsWith('p\t') ? half(line) : line)).join('\n'))
  rmSync(record)
  const running = await serve(home)
  try {
    for (const part of ['', '/story', '/messages', '/events?follow=false', '/state']) {
      expect((await running.get(`/instances/${done}${part}`)).status).toBe(200)
    }
    const rows = (await running.get('/doctor')).body as { check: string; state: string; message: string }[]
    const row = rows.find(({ check, state }) => check === 'journals' && state === 'failed')
    expect(row?.message).toContain(`${done} is completed, and`)
    expect(row?.message).toContain('of its journal cannot be read')
    const renamed = await fetch(`${running.url}/api/instances/${done}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'again' }),
    })
    expect(await renamed.json()).toMatchObject({ name: 'again', status: 'completed', output: 'fine' })
    // Every event is still there.
    const events = (text: string) => text.split('\n').filter((line) => /^\d/.test(line))
    expect(events(readFileSync(journal, 'utf8'))).toEqual(events(lines.join('\n')))
  } finally {
    await running.close()
  }
})

test.each<[string, Damage]>([
  ['garbage', garbage],
  ['empty', empty],
  ['cut', half],
  ['a directory', replaceByDirectory],
])(
  'tokens.json is %s: it is moved aside with a warning, old tokens are refused, and the sign-in link makes a new one',
  async (_, damage) => {
    const home = copyOfHome()
    damage(join(home, 'tokens.json'))
    const running = await serve(home)
    try {
      await running.said('tokens.json.broken-')
      expect((await running.get('/instances')).status).toBe(401)
      expect((await running.get('/health')).body).toEqual({ status: 'degraded' })
      const signedIn = await fetch(`${running.url}/api/auth/verify`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ code: running.signInLink().split('#code=')[1] }),
      })
      const { token: fresh } = (await signedIn.json()) as { token: string }
      const headers = { authorization: `Bearer ${fresh}` }
      expect((await fetch(`${running.url}/api/instances/${done}`, { headers })).status).toBe(200)
      expect(readdirSync(home).filter((name) => name.startsWith('tokens.json.broken-'))).toHaveLength(1)
    } finally {
      await running.close()
    }
  },
)

test.each<[string, Damage]>([
  ['garbage', garbage],
  ['empty', empty],
  ['cut', half],
  ['a directory', replaceByDirectory],
])('resolvers.json is %s: it is reported and never replaced, and built-in resolvers are served', async (_, damage) => {
  const home = copyOfHome()
  const file = join(home, 'resolvers.json')
  damage(file)
  const before = statSync(file)
  const running = await serve(home)
  try {
    await running.said("Can't read the catalog")
    expect((await running.get('/health')).body).toEqual({ status: 'degraded' })
    const { status, body } = await running.get('/resolvers')
    expect(status).toBe(200)
    expect((body as { name: string }[]).map(({ name }) => name)).toContain('hello')
    expect((await running.get(`/instances/${done}`)).status).toBe(200)
    expect(statSync(file).ino).toBe(before.ino)
    rmSync(file, { recursive: true })
    await expect.poll(async () => (await running.get('/health')).body).toEqual({ status: 'ok' })
  } finally {
    await running.close()
  }
})

test('broken records of Idempotency-Keys do not disturb other requests', async () => {
  const home = copyOfHome()
  const post = async (running: Running) =>
    await fetch(`${running.url}/api/instances`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'k1' },
      body: JSON.stringify({ resolver: 'hello', input: { name: 'Ada' } }),
    })
  const running = await serve(home)
  try {
    expect((await post(running)).status).toBe(202)
    for (const name of readdirSync(join(home, 'idempotency'))) garbage(join(home, 'idempotency', name))
    expect((await post(running)).status).toBe(202)
    replaceByFile(join(home, 'idempotency'))
    expect((await post(running)).status).toBe(507)
    expect((await running.get('/instances')).status).toBe(200)
  } finally {
    await running.close()
  }
})

test('after each of 160 random damages of random files the server starts, and serves the undamaged instances (F22)', {
  timeout: 240_000,
}, async () => {
  const random = seeded(20_261_121)
  const files = filesOf(template)
  expect(files.length).toBeGreaterThan(20)
  const until = Date.now() + 180_000
  const wrong: string[] = []
  let tried = 0
  for (; tried < 160 && (tried < 100 || Date.now() < until); tried += 1) {
    const home = copyOfHome()
    const file = files[Math.floor(random() * files.length)] as string
    const what = `${tried}: ${damageOneOf(join(home, file), random)} ${file}`
    wrong.push(...(await wrongAfter(home, file)).map((fault) => `${what}: ${fault}`))
    rmSync(homes.pop() as string, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
  expect(wrong).toEqual([])
  expect(tried).toBeGreaterThanOrEqual(100)
})

/** What is not as it must be of a server on a home whose `file` was damaged. */
async function wrongAfter(home: string, file: string): Promise<string[]> {
  const running = await serve(home).catch((error: unknown) => String(error))
  if (typeof running === 'string') return [`it does not come up: ${running}`]
  const wrong: string[] = []
  const touched = /^instances\/([0-9a-f]{12})\//.exec(file)?.[1]
  const isAllowed = (status: number) => status === 200 || (file.startsWith('tokens.json') && status === 401)
  try {
    for (const id of [done, other, paused].filter((one) => one !== touched)) {
      const { status, body } = await running.get(`/instances/${id}`)
      const { status: is } = body as InstanceRecord
      const isSame = status !== 200 || is === (id === paused ? 'paused' : 'completed')
      if (!isAllowed(status) || !isSame) wrong.push(`another instance answers ${status} and is ${is}`)
    }
    for (const path of [
      '',
      '/state',
      '/events?follow=false',
      '/input-requests',
      '/data',
      '/story',
      '/messages',
      '/stderr',
    ]) {
      if (touched === undefined) break
      // A stream that has begun can only be cut where its journal is broken.
      const answer = await running.get(`/instances/${touched}${path}`).catch((error: unknown) => {
        if (!path.startsWith('/events')) throw error
        return { status: 200, body: {} }
      })
      const { status, body } = answer
      const { code } = body as { code?: string }
      if (status >= 500 && code === 'bug') wrong.push(`${path} is a fault of ours`)
      if (status >= 400 && JSON.stringify(body).includes(home)) wrong.push(`${path} tells ${JSON.stringify(body)}`)
    }
    const { status } = await list(running)
    if (!isAllowed(status)) wrong.push(`the list answers ${status}`)
    const health = await fetch(`${running.url}/api/health`)
    if (health.status !== 200) wrong.push(`health answers ${health.status}`)
  } catch (error) {
    wrong.push(`it does not answer: ${error}`)
  }
  await running.close()
  return wrong
}

async function list(running: Running): Promise<{ status: number; records: InstanceRecord[] }> {
  const { status, body } = await running.get('/instances?limit=100')
  return { status, records: Array.isArray(body) ? body : [] }
}

function filesOf(home: string): string[] {
  return readdirSync(home, { recursive: true, encoding: 'utf8' })
    .map((name) => join(home, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => relative(home, path))
    .toSorted((a, b) => (inWords(a) < inWords(b) ? -1 : 1))
}

/** Ids are random; so that the same numbers choose the same files, they are ordered by what they are. */
function inWords(path: string): string {
  const names = { [done]: 'done', [other]: 'other', [paused]: 'paused', [lost]: 'lost' }
  return path.replace(/[0-9a-f]{12}/g, (id) => names[id] ?? id)
}

/** Damages it as a disk, a crash or a user would; returns how. */
function damageOneOf(path: string, random: () => number): string {
  const bytes = readFileSync(path)
  const at = Math.floor(random() * bytes.length)
  const kind = Math.floor(random() * 10)
  if (kind < 6 && bytes.length > 0) {
    bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8))
    writeFileSync(path, bytes)
    return `a flipped bit at ${at} of`
  }
  if (kind === 6) {
    writeFileSync(path, bytes.subarray(0, at))
    return `an end at ${at} of`
  }
  if (kind === 7) {
    writeFileSync(path, Buffer.concat([bytes.subarray(0, at), Buffer.alloc(64), bytes.subarray(at)]))
    return `64 zeros at ${at} of`
  }
  if (kind === 8) {
    replaceByDirectory(path)
    return 'a directory in the place of'
  }
  rmSync(path)
  return 'the loss of'
}

/** Mulberry32: the same numbers on every machine. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
