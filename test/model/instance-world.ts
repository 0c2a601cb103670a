/** The instance beside the model: the real host, journal and files; only its worker is in memory, and does what it is told. */
import { mkdirSync, readdirSync, renameSync } from 'node:fs'
import { ResolveError } from '../../src/core/errors.ts'
import { refuseRequests } from '../../src/core/host/process/control-socket.ts'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import { Acts } from '../../src/core/platform/local/acts.ts'
import { Reads } from '../../src/core/platform/local/reads.ts'
import { isTerminal } from '../../src/core/protocol/status.ts'
import { createInstance } from '../../src/core/store/create-instance.ts'
import { type InstancePaths, instancePaths, newInstanceId } from '../../src/core/store/home.ts'
import { type Inbox, readPayload } from '../../src/core/store/inbox.ts'
import { readJournal, readStory } from '../../src/core/store/journal-projection.ts'
import { readRecord, toRecord } from '../../src/core/store/record.ts'
import type { Story } from '../../src/core/view/story.ts'
import { MemoryMachine } from '../support/memory-machine.ts'
import { Puppet } from '../support/puppet.ts'
import { isLive, type Model, type Outcome } from './instance-model.ts'

/** A process that may host the instance, with the door its consumers come in by. */
interface Process {
  hosts: HostProcess
  acts: Acts
  /** Never ends while it lives. */
  death: Promise<Outcome>
  die: (what: Outcome) => void
}

/** What a caller of a process that was killed hears: nothing. */
export const LOST = 'lost'

export class World {
  readonly id = newInstanceId()
  readonly puppet = new Puppet()
  readonly paths: InstancePaths
  readonly #home: string
  readonly #machine = new MemoryMachine({ puppet: this.puppet.program })
  readonly #past: Process[] = []
  #process: Process
  /** Nothing that happens here may end a host by surprise: those say so by a warning. */
  readonly #noteWarning = (warning: Error) => void this.puppet.faults.push(`a host warned: ${warning.message}`)

  private constructor(home: string) {
    this.#home = home
    this.paths = instancePaths(home, this.id)
    this.#process = this.#newProcess()
    process.on('warning', this.#noteWarning)
  }

  static async create(home: string, isResumable: boolean): Promise<World> {
    const world = new World(home)
    const manifest = { name: 'puppet', version: '1.0.0', description: 'A puppet', command: ['puppet'] }
    await createInstance(home, {
      schema: 'resolve.journal/1',
      instance_id: world.id,
      name: null,
      parent_id: null,
      created_at: new Date().toISOString(),
      input: {},
      executor: 'local',
      environment: {},
      resolver: {
        name: 'puppet',
        version: '1.0.0',
        dir: home,
        commit: null,
        manifest: { ...manifest, supports_resume: isResumable },
      },
    })
    return world
  }

  /** What a consumer does, told in a word. */
  async told(act: (acts: Acts, id: string) => Promise<unknown>): Promise<Outcome> {
    const { acts, death } = this.#process
    const outcome = act(acts, this.id).then(
      (answer) => (isNumbered(answer) ? String(answer.number) : 'ok'),
      (error: unknown) => {
        if (error instanceof ResolveError) return error.code
        throw error
      },
    )
    return await Promise.race([outcome, death])
  }

  async host(): Promise<Outcome> {
    await this.#ensureHost(this.#process)
    return 'ok'
  }

  /** With a goodbye: the next one may come at once. */
  release(): Outcome {
    this.#process.hosts.release(this.id)
    return 'ok'
  }

  /** As kill -9 leaves it: nothing is said, written or closed down on disk. */
  kill(): Outcome {
    const { hosts, die } = this.#process
    const socket = hosts.socketPath
    const away = `${this.paths.root}.away`
    renameSync(this.paths.root, away)
    mkdirSync(this.paths.root)
    hosts.release(this.id)
    const written = readdirSync(this.paths.root)
    renameSync(away, this.paths.root)
    if (socket !== undefined) renameSync(socket, `${socket}.kept`)
    this.#past.push(this.#process)
    this.#process = this.#newProcess()
    void hosts.close().then(() => socket !== undefined && renameSync(`${socket}.kept`, socket))
    die(LOST)
    return written.length === 0 ? 'ok' : `left ${written.join()}`
  }

  async close(): Promise<void> {
    process.off('warning', this.#noteWarning)
    for (const { hosts } of [...this.#past, this.#process]) await hosts.close()
  }

  /** What is to be seen from outside, in the model's words. */
  async view(): Promise<Record<string, unknown>> {
    const { hosts } = this.#process
    const reads = new Reads(this.#home, hosts)
    const record = await reads.record(this.id)
    const messages = await reads.messages(this.id, 0)
    const held = hosts.get(this.id)
    const { story, inbox } = held?.ledger ?? readJournal(this.paths.journal)
    const { stop } = inbox
    const { status, output, error } = record
    const last = story.history.at(-1)
    return {
      status,
      output,
      error: error?.code ?? null,
      pending: record.pending_inputs,
      hasEnded: record.ended_at !== null,
      reason: last?.reason ?? null,
      requests: Object.fromEntries(story.requests.map((request) => [request.id, request.status])),
      kept: answersOf(story, inbox),
      messages: messages.map(({ number, payload }) => `${number}: ${payload['text']}`),
      said: story.artifacts.map((artifact) => artifact.value),
      wanted: story.wantedIncarnation,
      isHosted: held !== undefined,
      stop: stop === undefined ? null : `${stop.how} ${stop.force}`,
      ...(held === undefined ? {} : this.#heard(story, inbox)),
    }
  }

  /** Of a live run: whether it has begun, and what the resolver was told. */
  #heard(story: Story, inbox: Inbox): Record<string, unknown> {
    const hasRun = inbox.hasRun(story.wantedIncarnation)
    if (!hasRun) return { hasRun, isUp: this.puppet.isUp }
    const answers = Object.fromEntries([...this.puppet.answers].sort())
    return { hasRun, isUp: this.puppet.isUp, answers, heard: [...this.puppet.messages.values()] }
  }

  /** I12: the story is what the journal tells, and the record what the story tells. */
  replay(): { held: unknown; told: unknown }[] {
    const story = readStory(this.paths.journal)
    const held = this.#process.hosts.get(this.id)?.ledger.story ?? story
    const rebuilt = toRecord(story)
    return [
      { held, told: story },
      { held: toRecord(held), told: rebuilt },
      ...(isTerminal(story.status) ? [{ held: readRecord(this.paths), told: rebuilt }] : []),
    ]
  }

  #newProcess(): Process {
    const { promise: death, resolve: die } = Promise.withResolvers<Outcome>()
    const hosts = new HostProcess(this.#home, refuseRequests, {
      driver: (_executor, paths) => this.#machine.driver(paths),
    })
    const reads = new Reads(this.#home, hosts)
    const made: Process = { hosts, death, die, acts: undefined as unknown as Acts }
    made.acts = new Acts({
      home: this.#home,
      hosts,
      journals: reads.journals,
      paths: (id) => reads.paths(id),
      ensureHost: () => this.#ensureHost(made),
      record: async (id) => reads.record(id),
      leave: async () => {},
    })
    return made
  }

  async #ensureHost(asked: Process): Promise<void> {
    // A process that was killed does nothing any more.
    if (asked !== this.#process) await new Promise(() => {})
    const { status } = readRecord(this.paths)
    if (!isTerminal(status) && status !== 'paused') await asked.hosts.own(this.id)
  }
}

/** What {@link World.view} has to show. */
export function viewOf(m: Model): Record<string, unknown> {
  const hasRun = m.worker?.hasRun ?? false
  return {
    status: m.status,
    output: m.output,
    error: m.error,
    pending: Object.values(m.requests).filter((status) => status === 'pending').length,
    hasEnded: !isLive(m) && m.status !== 'paused',
    reason: m.reason,
    requests: m.requests,
    kept: m.answers,
    messages: m.messages.map((text, index) => `${index + 1}: ${text}`),
    said: m.said,
    wanted: m.wanted,
    isHosted: m.isHosted,
    stop: m.keptStop === null ? null : `${m.keptStop.kind} ${m.keptStop.isForced}`,
    ...(m.isHosted ? { hasRun, isUp: m.worker?.isUp ?? false } : {}),
    ...(m.isHosted && hasRun
      ? {
          answers: Object.fromEntries(
            Object.entries(m.answers)
              .sort()
              .map(([id, x]) => [id, { x }]),
          ),
          heard: m.messages.map((text) => ({ text })),
        }
      : {}),
  }
}

function answersOf(story: Story, inbox: Inbox): Record<string, unknown> {
  const answered = story.requests.filter((request) => request.status === 'answered')
  return Object.fromEntries(
    answered.map(({ id }) => {
      const kept = inbox.answer(id)
      return [id, kept === undefined ? undefined : readPayload(kept)['x']]
    }),
  )
}

function isNumbered(answer: unknown): answer is { number: number } {
  return typeof answer === 'object' && answer !== null && 'number' in answer
}
