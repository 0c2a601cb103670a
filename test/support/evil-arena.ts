/**
 * Where the evil resolver is let loose: one home with a real server on it, canaries around it, and a bystander that must come to its
 * own end. What it did to anybody is looked at after each mode, and once more at the end.
 */
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import type { InstanceRecord } from '../../src/core/protocol/instance.ts'
import { isTerminal } from '../../src/core/protocol/status.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { processesOf } from '../../src/core/worker/process-tree.ts'
import { DONE, parse } from './event-stream.ts'
import { eventsOf } from './instances.ts'
import { checkInvariants } from './invariants.ts'
import type { Exchange } from './invariants-http.ts'
import type { StreamConnection } from './invariants-streams.ts'
import { platformOn } from './platforms.ts'
import { type Served, serve } from './served.ts'

const SECRETS = {
  RESOLVE_LLM_PROVIDER_API_KEY: 'sk-canary-0123456789-of-the-host',
  RESOLVE_GIT_HOST_TOKEN: 'ghp_canaryCANARY9876543210',
  RESOLVE_GIT_BASE_URL: 'https://bot:canary-password@git.example.org',
}
/** What its worker is told: of the address only the password is a secret. */
const TOLD = [SECRETS.RESOLVE_LLM_PROVIDER_API_KEY, SECRETS.RESOLVE_GIT_HOST_TOKEN, 'canary-password']
const OF_HOST = 'canary-of-the-host-itself'
const UNHEARD_OF = [...TOLD, OF_HOST]

export interface Loose {
  id: string
  /** Asks the API as a consumer, below the instance; written down for the invariants. */
  call(method: string, path?: string, sent?: unknown): Promise<Exchange>
  /** Until an event of this type is in the journal. */
  said(type: string): Promise<void>
  /** Until the record has one of these statuses. */
  is(...statuses: string[]): Promise<void>
}

export class Arena {
  readonly home: string
  readonly canary = mkdtempSync(join(tmpdir(), 'resolve-canary-'))
  /** How long the slowest answer to somebody who has nothing to do with it all took. */
  slowestMs = 0
  readonly #executor: 'local' | 'docker'
  readonly #leftOf: (id: string) => Promise<unknown[]>
  #before = ''
  #served!: Served
  #token = ''
  #bystander = ''
  #isOver = false
  #asking: Promise<void> = Promise.resolve()

  constructor(home: string, executor: 'local' | 'docker', leftOf?: (id: string) => Promise<unknown[]>) {
    this.home = home
    this.#executor = executor
    this.#leftOf = leftOf ?? (async (id) => processesOf({ leader: 0, variable: this.#markOf(id) }))
  }

  async open(): Promise<void> {
    Object.assign(process.env, SECRETS)
    mkdirSync(join(this.canary, 'folder'))
    for (const name of ['secret.json', 'folder/secret', 'data']) {
      writeFileSync(join(this.canary, name), JSON.stringify({ status: 'completed', output: OF_HOST, id: 'q' }))
    }
    this.#before = fingerprint(this.canary)
    const copy = join(this.home, 'sources', 'evil')
    cpSync(join(import.meta.dirname, '../fixtures/resolvers/evil'), copy, { recursive: true })
    const manifest = JSON.parse(readFileSync(join(copy, 'manifest.json'), 'utf8')) as object
    const whole = this.#executor === 'docker' ? { ...manifest, container: {} } : manifest
    writeFileSync(join(copy, 'manifest.json'), JSON.stringify(whole))
    chmodSync(copy, 0o755)
    const platform = await platformOn(this.home)
    await (await platform.catalog()).add(copy, { cwd: this.home })
    await platform.close()
    this.#served = await serve(this.home)
    this.#token = await this.#served.token()
    const born = await this.#send('POST', '/api/instances', { resolver: 'evil', input: { mode: 'asks' } })
    this.#bystander = (born.body as InstanceRecord).instance_id
    this.#asking = this.#keepAsking()
  }

  /** Nobody was harmed: the bystander comes to its end, the canaries are what they were, the host answered throughout. */
  async close(): Promise<void> {
    const own = `/api/instances/${this.#bystander}`
    const answer = await this.#send('POST', `${own}/input-requests/q`, { a: 1 })
    expect(answer.status).toBe(204)
    await this.#ended(this.#bystander)
    const bystander = (await this.#send('GET', own)).body as InstanceRecord
    this.#isOver = true
    await this.#asking
    await this.#served.close()
    for (const name of Object.keys(SECRETS)) delete process.env[name]
    expect(bystander).toMatchObject({ status: 'completed', output: 'done' })
    expect(checkInvariants({ home: this.home, id: this.#bystander, answers: [answer] })).toEqual([])
    expect(fingerprint(this.canary)).toBe(this.#before)
    expect(this.slowestMs).toBeLessThan(5_000)
    rmSync(this.canary, { recursive: true, force: true })
  }

  /** One run of a mode: acted upon by `act`, and then everything that must hold of it. Undefined where it was not even created. */
  async run(mode: string, act: (loose: Loose) => Promise<void>, refusal?: string): Promise<InstanceRecord | undefined> {
    const answers: Exchange[] = []
    const noted = async (method: string, path: string, sent?: unknown) => {
      const exchange = await this.#send(method, path, sent)
      answers.push(exchange)
      return exchange
    }
    const born = await noted('POST', '/api/instances', {
      resolver: 'evil',
      input: { mode, canary: this.canary },
    })
    if (refusal !== undefined || born.status !== 202) {
      expect(born.body).toMatchObject({ code: refusal ?? 'none: it is created' })
      expectUnheard('the refusal', JSON.stringify(born))
      return undefined
    }
    const { instance_id: id } = born.body as InstanceRecord
    const own = `/api/instances/${id}`
    const reading = this.#follow(own)
    await act({
      id,
      call: (method, path = '', sent) => noted(method, `${own}${path}`, sent),
      said: (type) =>
        this.#until(id, type, () => eventsOf(this.home, id).some(({ event }) => event.event_type === type)),
      is: (...statuses) =>
        this.#until(id, statuses.join(), async () =>
          statuses.includes((await this.#served.platform.record(id)).status),
        ),
    })
    await this.#ended(id)
    const stream = await reading
    expect(stream.frames.at(-1)?.data).toBe(DONE)
    const { path } = ((await noted('GET', `${own}/data`)).body as { files?: { path: string }[] }).files?.[0] ?? {
      path: 'none',
    }
    const paths = ['', '/state', '/story', '/stderr', '/input-requests', '/messages', '/message-types', '/data/planted']
    for (const part of [...paths, `/data/${path}`]) await noted('GET', `${own}${part}`)
    await this.#heldBack(id, answers, stream)
    expect(await this.#leftOf(id), 'left of it').toEqual([])
    return await this.#served.platform.record(id)
  }

  /** Everything that a consumer can have of it: no secret is in there, and the invariants hold. */
  async #heldBack(id: string, answers: readonly Exchange[], stream: StreamConnection): Promise<void> {
    const { platform } = this.#served
    const recorded = { streams: [[stream]], answers, secrets: TOLD }
    expect(checkInvariants({ home: this.home, id, ...recorded })).toEqual([])
    const archive: Buffer[] = []
    for await (const chunk of await platform.export(id)) archive.push(chunk)
    expectUnheard('the export', gunzipSync(Buffer.concat(archive)))
    expectUnheard('stderr', await platform.stderrTail(id))
    expectUnheard('the journal', readFileSync(instancePaths(this.home, id).journal))
    expectUnheard('the record', JSON.stringify(await platform.record(id)))
    expectUnheard('the stream', stream.frames.map(({ data }) => data).join('\n'))
    for (const { method, path, body } of answers) expectUnheard(`${method} ${path}`, JSON.stringify(body))
    expect(fingerprint(this.canary), 'the canaries').toBe(this.#before)
  }

  async #follow(own: string): Promise<StreamConnection> {
    const response = await fetch(`${this.#served.url}${own}/events`, { headers: this.#headers() })
    const { messages } = parse(await response.text())
    const frames = messages.map(({ id, data }) => ({ id, data }))
    return { after: 0, isWhole: true, frames }
  }

  async #send(method: string, path: string, sent?: unknown): Promise<Exchange> {
    const from = Date.now()
    const json = sent === undefined ? {} : { body: JSON.stringify(sent) }
    const response = await fetch(`${this.#served.url}${path}`, { method, headers: this.#headers(sent), ...json })
    const text = await response.text()
    let body: unknown = text
    try {
      body = JSON.parse(text)
    } catch {
      // Data, or nothing.
    }
    return { method, path, sent, status: response.status, body, from, to: Date.now() }
  }

  #headers(sent?: unknown): Record<string, string> {
    return {
      authorization: `Bearer ${this.#token}`,
      ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
    }
  }

  async #keepAsking(): Promise<void> {
    while (!this.#isOver) {
      const { status, from, to } = await this.#send('GET', '/api/resolvers')
      expect(status).toBe(200)
      this.slowestMs = Math.max(this.slowestMs, to - from)
      await sleep(100)
    }
  }

  #ended(id: string): Promise<void> {
    return this.#until(id, 'its end', async () => isTerminal((await this.#served.platform.record(id)).status))
  }

  async #until(id: string, what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    for (const deadline = Date.now() + 40_000; !(await condition()); await sleep(50)) {
      const { status, error } = await this.#served.platform.record(id)
      if (Date.now() > deadline) expect.fail(`${id} never came to ${what}: ${JSON.stringify({ status, error })}`)
    }
  }

  #markOf(id: string): string {
    return `RESOLVE_DIR=${instancePaths(this.home, id).project}/.resolve`
  }
}

function expectUnheard(where: string, said: string | Buffer): void {
  const bytes = Buffer.from(said)
  for (const canary of UNHEARD_OF) expect(bytes.includes(canary), `${canary} in ${where}`).toBe(false)
}

/** Names, modes and contents of a tree. */
function fingerprint(folder: string): string {
  const hash = createHash('sha256')
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  for (const entry of entries.sort((a, b) => (join(a.parentPath, a.name) < join(b.parentPath, b.name) ? -1 : 1))) {
    const path = join(entry.parentPath, entry.name)
    hash.update(`${path}\0${entry.isFile() ? readFileSync(path, 'utf8') : 'other'}\0`)
  }
  return hash.digest('hex')
}
