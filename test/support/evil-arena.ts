/**
 * Where the evil resolver is let loose: one home with a real server on it in a process of its own, canaries and others' processes around
 * it, and a bystander that must come to its own end. Each mode is held to every invariant, and all of them together once more.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { HTTP_HEADERS_LIMIT_MS } from '../../src/core/limits.ts'
import type { InstanceRecord } from '../../src/core/protocol/instance.ts'
import { isTerminal } from '../../src/core/protocol/status.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { processesOf } from '../../src/core/worker/local/process-tree.ts'
import { DONE, parse } from './event-stream.ts'
import { eventsOf } from './instances.ts'
import { checkInvariants, type Run } from './invariants.ts'
import { fingerprint } from './invariants-canaries.ts'
import type { Held, HostUse } from './invariants-host.ts'
import type { Exchange } from './invariants-http.ts'
import { type Holdings, localWorkers, lookOf } from './invariants-processes.ts'
import type { StreamConnection } from './invariants-streams.ts'
import { heldBy, type MeasuredServer, measuredServer } from './measured-server.ts'
import { platformOn } from './platforms.ts'

const SECRETS = {
  RESOLVE_LLM_PROVIDER_API_KEY: 'sk-canary-0123456789-of-the-host',
  RESOLVE_GIT_HOST_TOKEN: 'ghp_canaryCANARY9876543210',
  RESOLVE_GIT_BASE_URL: 'https://bot:canary-password@git.example.org',
}
/** What its worker is told: of the address only the password is a secret. */
const TOLD = [SECRETS.RESOLVE_LLM_PROVIDER_API_KEY, SECRETS.RESOLVE_GIT_HOST_TOKEN, 'canary-password']
const OF_HOST = 'canary-of-the-host-itself'
const OF_ENVIRONMENT = 'canary-of-the-environment'
const UNHEARD_OF = [...TOLD, OF_HOST, OF_ENVIRONMENT]

export interface Loose {
  id: string
  /** Asks the API as a consumer, below the instance; written down for the invariants. */
  call(method: string, path?: string, sent?: unknown): Promise<Exchange>
  /** Until an event of this type is in the journal. */
  said(type: string): Promise<void>
  /** Until something was refused for this reason. */
  refused(reason: string): Promise<void>
  /** Until the record has one of these statuses. */
  is(...statuses: string[]): Promise<void>
}

/** How one kind of worker is looked at, past our own code. */
export interface Coordinations {
  executor: 'local' | 'docker'
  /** How many workers each directory of a local worker, or each instance of a container, has now. */
  workers(): Promise<ReadonlyMap<string, number>>
  /** What is left of an instance. */
  left(id: string): Promise<readonly unknown[]>
  /** What belongs to others, by name. */
  foreign(): Promise<Record<string, string>>
}

const LOOK_MS = 500
/** How much more the host may hold than before, at the worst moment of eighty attacks, up to five at once: garbage of several is not collected yet. */
const ALL_TOGETHER = { rssBytes: 320 * 1024 * 1024 }

export class Arena {
  readonly home: string
  readonly canary = mkdtempSync(join(tmpdir(), 'resolve-canary-'))
  /** How long the slowest answer to an uninvolved client took. */
  slowestMs = 0
  readonly #coordinations: Coordinations
  #before = ''
  #server!: MeasuredServer
  #stranger!: ChildProcess
  #foreign: Record<string, string> = {}
  #measured!: () => Promise<HostUse>
  #bystander = ''
  #isOver = false
  #busy: Promise<unknown> = Promise.resolve()
  readonly #own = new OwnStalls()
  readonly #looks: { at: number; workers: ReadonlyMap<string, number> }[] = []

  constructor(home: string, coordinations?: Coordinations) {
    this.home = home
    this.#coordinations = coordinations ?? {
      executor: 'local',
      workers: async () => localWorkers('resolver.mjs'),
      left: async (id) => processesOf({ leader: 0, variable: `RESOLVE_DIR=${this.#directoryOf(id)}` }),
      foreign: async () => ({}),
    }
  }

  /** The process that hosts. */
  get pid(): number {
    return this.#server.pid
  }

  async open(): Promise<void> {
    mkdirSync(join(this.canary, 'folder'))
    for (const name of ['secret.json', 'folder/secret', 'data']) {
      writeFileSync(join(this.canary, name), JSON.stringify({ status: 'completed', output: OF_HOST, id: 'q' }))
    }
    // Who links to it has its content; it must stay what it is.
    writeFileSync(join(this.canary, 'linked'), 'must stay unchanged')
    const copy = join(this.home, 'sources', 'evil')
    cpSync(join(import.meta.dirname, '../fixtures/resolvers/evil'), copy, { recursive: true })
    const manifest = JSON.parse(readFileSync(join(copy, 'manifest.json'), 'utf8')) as object
    const whole = this.#coordinations.executor === 'docker' ? { ...manifest, container: {} } : manifest
    writeFileSync(join(copy, 'manifest.json'), JSON.stringify(whole))
    chmodSync(copy, 0o755)
    const platform = await platformOn(this.home)
    await (await platform.catalog()).add(copy, { cwd: this.home })
    await platform.close()
    this.#server = await measuredServer(this.home, { ...SECRETS, CANARY: OF_ENVIRONMENT })
    const born = await this.#send('POST', '/api/instances', { resolver: 'evil', input: { mode: 'asks' } })
    this.#bystander = (born.body as InstanceRecord).instance_id
    // Its mark looks like the bystander's, and is not.
    const env = { ...process.env, RESOLVE_DIR: `${this.#directoryOf(this.#bystander)}2` }
    this.#stranger = spawn('sleep', ['3600'], { env, stdio: 'ignore', detached: true })
    await this.#is(`/api/instances/${this.#bystander}`, this.#bystander, 'awaiting_input')
    this.#before = fingerprint(this.canary)
    this.#foreign = await this.#others()
    this.#measured = this.#server.measure('all')
    this.#busy = Promise.all([this.#keepAsking(), this.#keepLooking()])
  }

  /** No other instance was harmed: the bystander comes to its end, the canaries are what they were, the host answered throughout and is as before. */
  async close(): Promise<void> {
    const own = `/api/instances/${this.#bystander}`
    const answer = await this.#send('POST', `${own}/input-requests/q`, { a: 1 })
    expect(answer.status).toBe(204)
    await this.#ended(this.#bystander)
    const answers = [answer, await this.#send('GET', own), await this.#send('GET', `${own}/story`)]
    this.#isOver = true
    await this.#busy
    this.#own.end()
    await sleep(1_000)
    const host = { ...(await this.#measured()), after: heldBy(this.pid), limits: ALL_TOGETHER }
    const holdings = await this.#holdings(this.#bystander, 0)
    await this.#server.close()
    const gone = once(this.#stranger, 'exit')
    this.#stranger.kill()
    await gone
    expect(answers[1]?.body).toMatchObject({ status: 'completed', output: 'done' })
    expect(this.#faults({ id: this.#bystander, answers, host, holdings })).toEqual([])
    expect(this.slowestMs).toBeLessThan(5_000)
    process.stdout.write(`${toldOf(host)}, slowest answer ${this.slowestMs} ms\n`)
    rmSync(this.canary, { recursive: true, force: true })
  }

  /** One run of a mode: acted upon by `act`, and then everything that must hold of it. Undefined where it was not even created. */
  async run(
    mode: string,
    act: (loose: Loose) => Promise<void>,
    { refusal, limits }: { refusal?: string | undefined; limits?: Partial<Held> | undefined } = {},
  ): Promise<InstanceRecord | undefined> {
    const answers: Exchange[] = []
    const began = Date.now()
    const measured = this.#server.measure(mode)
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
      const outputs = [['the refusal', JSON.stringify(born)]] as const
      expect(this.#faults({ id: this.#bystander, answers, outputs, host: await measured() })).toEqual([])
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
      refused: (reason) =>
        this.#until(id, reason, () => eventsOf(this.home, id).some(({ event }) => event.data['reason'] === reason)),
      is: (...statuses) => this.#is(own, id, ...statuses),
    })
    await this.#ended(id)
    const stream = await reading
    expect(stream.frames.at(-1)?.data).toBe(DONE)
    const { path } = ((await noted('GET', `${own}/data`)).body as { files?: { path: string }[] }).files?.[0] ?? {
      path: 'none',
    }
    const paths = ['/state', '/story', '/stderr', '/input-requests', '/messages', '/message-types', '/data/planted']
    for (const part of [...paths, `/data/${path}`, '']) await noted('GET', `${own}${part}`)
    const run = {
      ...{ id, answers, streams: [[stream]], outputs: await this.#outputsOf(own, id, stream, answers) },
      host: { ...(await measured()), ...(limits === undefined ? {} : { limits }) },
      holdings: await this.#holdings(id, began),
    }
    expect(this.#faults(run)).toEqual([])
    return answers.at(-1)?.body as InstanceRecord
  }

  /** Everything of a run, held to every invariant. */
  #faults({ outputs = [], ...run }: Omit<Run, 'home' | 'canaries'> & { outputs?: Outputs }) {
    const canaries = { before: this.#before, after: fingerprint(this.canary), unheard: UNHEARD_OF, outputs }
    return checkInvariants({ home: this.home, secrets: TOLD, canaries, ...run })
  }

  /** Everything that a consumer can have of it. */
  async #outputsOf(own: string, id: string, stream: StreamConnection, answers: readonly Exchange[]): Promise<Outputs> {
    const archive = await this.#ask(`${own}/export`)
    expect(archive.status, archive.bytes.toString('utf8', 0, 500)).toBe(200)
    return [
      ['the export', gunzipSync(archive.bytes)],
      ['the journal', readFileSync(instancePaths(this.home, id).journal)],
      [
        'what is left of its config',
        readFileSync(join(instancePaths(this.home, id).project, '.resolve', 'config.json')),
      ],
      ['the stream', stream.frames.map(({ data }) => data).join('\n')],
      ...answers.map(({ method, path, body }) => [`${method} ${path}`, JSON.stringify(body) ?? ''] as const),
    ]
  }

  async #holdings(id: string, began: number): Promise<Holdings> {
    const of = (workers: ReadonlyMap<string, number>) => workers.get(id) ?? workers.get(this.#directoryOf(id)) ?? 0
    return {
      workers: this.#looks.filter(({ at }) => at >= began).map(({ at, workers }) => ({ at, count: of(workers) })),
      left: await this.#coordinations.left(id),
      foreign: { before: this.#foreign, after: await this.#others() },
    }
  }

  async #others(): Promise<Record<string, string>> {
    return { 'a process': lookOf(this.#stranger.pid as number), ...(await this.#coordinations.foreign()) }
  }

  async #follow(own: string): Promise<StreamConnection> {
    const { bytes } = await this.#ask(`${own}/events`)
    const { messages } = parse(bytes.toString('utf8'))
    const frames = messages.map(({ id, data }) => ({ id, data }))
    return { after: 0, isWhole: true, frames }
  }

  async #send(method: string, path: string, sent?: unknown): Promise<Exchange> {
    const from = Date.now()
    const { status, bytes } = await this.#ask(path, method, sent)
    const text = bytes.toString('utf8')
    let body: unknown = text
    try {
      body = JSON.parse(text)
    } catch {
      // Data, or nothing.
    }
    return { method, path, sent, status, body, from, to: Date.now() }
  }

  /**
   * A server ends a connection that sends nothing for ten seconds: where this process itself stalled for so long, it asks again.
   * So it does where the modes that run beside this one hold all places of its token.
   */
  async #ask(path: string, method = 'GET', sent?: unknown): ReturnType<typeof ask> {
    const content = sent === undefined ? undefined : JSON.stringify(sent)
    for (;;) {
      const from = Date.now()
      const answer = await ask(`${this.#server.url}${path}`, method, this.#headers(sent), content)
      const isStalled = answer.status === 408 && this.#own.since(from) >= HTTP_HEADERS_LIMIT_MS / 2
      if (!isStalled && answer.status !== 429) return answer
      if (answer.status === 429) await sleep(500)
    }
  }

  #headers(sent?: unknown): Record<string, string> {
    return {
      authorization: `Bearer ${this.#server.token}`,
      ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
    }
  }

  async #keepAsking(): Promise<void> {
    while (!this.#isOver) {
      const { status, from, to } = await this.#send('GET', '/api/resolvers')
      expect(status).toBe(200)
      this.slowestMs = Math.max(this.slowestMs, to - from - this.#own.since(from))
      await sleep(100)
    }
  }

  async #keepLooking(): Promise<void> {
    while (!this.#isOver) {
      const at = Date.now()
      this.#looks.push({ at, workers: await this.#coordinations.workers() })
      await sleep(LOOK_MS)
    }
  }

  #is(own: string, id: string, ...statuses: string[]): Promise<void> {
    return this.#until(id, statuses.join(), async () => statuses.includes(await this.#statusOf(own)))
  }

  async #statusOf(own: string): Promise<string> {
    const answer = await this.#send('GET', own)
    const { status } = answer.body as InstanceRecord
    if (status === undefined) expect.fail(`GET ${own} answers no record: ${JSON.stringify(answer)}`)
    return status
  }

  #ended(id: string): Promise<void> {
    return this.#until(id, 'its end', async () =>
      isTerminal((await this.#statusOf(`/api/instances/${id}`)) as 'failed'),
    )
  }

  async #until(id: string, what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    for (const deadline = Date.now() + 90_000; ; ) {
      const from = Date.now()
      if (await condition()) return
      // Reading a long journal again and again would leave no time for anything else.
      await sleep(Math.min(1_000, Math.max(50, 3 * (Date.now() - from))))
      if (Date.now() < deadline) continue
      const { body } = await this.#send('GET', `/api/instances/${id}`)
      expect.fail(`${id} never came to ${what}: ${JSON.stringify(body)}`)
    }
  }

  #directoryOf(id: string): string {
    return `${instancePaths(this.home, id).project}/.resolve`
  }
}

/** When and for how long the event loop of this process stalled: it reads and checks long journals. */
class OwnStalls {
  readonly #stalls: { until: number; ms: number }[] = []
  #before = Date.now()
  readonly #timer = setInterval(() => {
    const now = Date.now()
    if (now - this.#before > 2 * BEAT_MS) this.#stalls.push({ until: now, ms: now - this.#before - BEAT_MS })
    this.#before = now
  }, BEAT_MS).unref()

  /** The time since then that was lost in stalls, ms. */
  since(from: number): number {
    const running = Math.max(0, Date.now() - this.#before - BEAT_MS)
    const over = this.#stalls.filter(({ until }) => until > from).map(({ until, ms }) => Math.min(ms, until - from))
    return over.reduce((sum, ms) => sum + ms, Math.min(running, Date.now() - from))
  }

  end(): void {
    clearInterval(this.#timer)
  }
}

const BEAT_MS = 100

/** On a connection of its own: one that is kept may be closed while this busy process does not look. */
async function ask(url: string, method: string, headers: Record<string, string>, content?: string) {
  const outgoing = request(url, { method, headers, agent: false })
  outgoing.end(content)
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return { status: incoming.statusCode ?? 0, bytes: Buffer.concat(chunks) }
}

type Outputs = readonly (readonly [where: string, said: string | Buffer])[]

function toldOf({ before, peak, after, delayP99Ms: p99, computedMaxMs: max, feltP99Ms: felt }: HostUse): string {
  const grown = (Object.keys(before) as (keyof Held)[]).map((what) => {
    const of = (held: Held) => (what === 'rssBytes' ? Math.round(held[what] / 2 ** 20) : held[what])
    return `${what === 'rssBytes' ? 'MiB' : what} ${of(before)} → ${of(peak)} → ${of(after ?? peak)}`
  })
  return `The host of the evil: ${grown.join(', ')}; event loop late by itself p99 ${p99.toFixed(1)} ms, felt ${felt.toFixed(1)}; computed at most ${max.toFixed(0)} ms in a turn`
}
