/**
 * Sends the spans of an instance from its host: those of a session's turn when the journal has its end, and one for the run when it ends. A span that a kill
 * prevented is not sent later; one that is sent twice has the same id.
 */
import { readFileSync } from 'node:fs'
import { installedFile } from '../files/installation.ts'
import type { EventEnvelope } from '../protocol/event.ts'
import type { SessionCompleted, TranscriptDocument, TranscriptEvent } from '../protocol/session/session.ts'
import { isTerminal } from '../protocol/status.ts'
import type { Story } from '../view/story.ts'
import { rootIdOf, spansOfTurn, traceIdOf } from './session-spans.ts'
import { isTracingWanted, openTracing, type Tracing } from './tracing.ts'

interface TracedInstance {
  id: string
  resolver: string
  /** ISO-8601. */
  createdAt: string
  transcript: TranscriptReader
}

/** A piece of a session's transcript from a place on, without secrets. */
export type TranscriptReader = (session: string, after: number) => Promise<TranscriptDocument>

/** Undefined where the environment does not ask for traces. */
export function traceSessions({ creation }: Story, transcript: TranscriptReader): SessionTraces | undefined {
  if (!isTracingWanted(process.env)) return undefined
  const { instance_id: id, resolver, created_at: createdAt } = creation
  return new SessionTraces({ id, resolver: resolver.name, createdAt, transcript })
}

let shared: Promise<Tracing | undefined> | undefined

/** Of this process: its hosts share one exporter. */
function theTracing(): Promise<Tracing | undefined> {
  const manifest = installedFile('package.json')
  const { version = '' } =
    manifest === undefined ? {} : (JSON.parse(readFileSync(manifest, 'utf8')) as { version?: string })
  shared ??= openTracing({ env: process.env, version }).catch(() => undefined)
  return shared
}

class SessionTraces {
  readonly #instance: TracedInstance
  readonly #withContents = process.env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT']?.toLowerCase() === 'true'
  readonly #places = new Map<string, ReadPlace>()
  #work: Promise<unknown> = Promise.resolve()
  #hasSent = false

  constructor(instance: TracedInstance) {
    this.#instance = instance
  }

  /** An event that the journal has now. */
  take({ event_type: type, data }: EventEnvelope, { status, error }: Story): void {
    if (type === 'platform.resolver.session_completed') this.#turnEnded(data as SessionCompleted)
    else if (type === 'platform.instance.status_changed' && isTerminal(status)) this.#runEnded(status, error?.code)
  }

  /** A turn has ended. What it needs is read later; a failure is none of the run. */
  #turnEnded(completed: SessionCompleted): void {
    this.#later(async (tracing) => {
      const { id, resolver } = this.#instance
      const about = { instance: id, resolver, completed, withContents: this.#withContents, nowMs: Date.now() }
      for (const span of spansOfTurn(about, await this.#eventsOf(completed))) tracing.send(span)
    })
  }

  /** The run has ended. */
  #runEnded(status: string, failure: string | undefined): void {
    const { id, resolver, createdAt } = this.#instance
    const endMs = Date.now()
    this.#later(async (tracing) => {
      tracing.send({
        traceId: traceIdOf(id),
        spanId: rootIdOf(id),
        name: `run ${resolver}`,
        kind: 'internal',
        startMs: Date.parse(createdAt),
        endMs,
        attributes: {
          'resolve.instance.id': id,
          'resolve.resolver.name': resolver,
          'resolve.status': status,
          ...(failure === undefined ? {} : { 'error.type': failure }),
        },
        ...(failure === undefined ? {} : { failure }),
      })
    })
  }

  /** Waits until what was told so far is sent, for 2 s at most. */
  async flush(): Promise<void> {
    await this.#work
    if (this.#hasSent) await (await theTracing())?.flush()
  }

  /** One after another: a turn begins to be read where the one before it ended. */
  #later(work: (tracing: Tracing) => Promise<void>): void {
    this.#work = this.#work.then(async () => {
      const tracing = await theTracing()
      if (tracing === undefined) return
      this.#hasSent = true
      await work(tracing).catch(() => {})
    })
  }

  /** What the transcript has of a turn. The next turn may have begun before this is read: what is its own is kept for it. */
  async #eventsOf({ session_id: session, turn }: SessionCompleted): Promise<TranscriptEvent[]> {
    const place = this.#places.get(session) ?? { after: 0, ahead: [] }
    this.#places.set(session, place)
    const found: TranscriptEvent[] = []
    const take = (events: readonly TranscriptEvent[]) => {
      for (const event of events) {
        const of = event.data['turn']
        if (of === turn && found.length < EVENTS_MAX) found.push(event)
        else if (typeof of === 'number' && of > turn && place.ahead.length < EVENTS_MAX) place.ahead.push(event)
      }
    }
    take(place.ahead.splice(0))
    while (found.at(-1)?.type !== 'prompt:complete') {
      const { events, meta } = await this.#instance.transcript(session, place.after)
      take(events)
      const isOver = !meta.truncated || meta.next === place.after
      place.after = meta.next
      if (isOver) break
    }
    return found
  }
}

/** How far the transcript of a session was read, and what of it belongs to turns that are not sent yet. */
interface ReadPlace {
  after: number
  ahead: TranscriptEvent[]
}

const EVENTS_MAX = 10_000
