/**
 * The state of one instance in the page. It shows the snapshot first, then applies all events from the beginning, those that the browser
 * kept before those of the server, with the same reducer as the terminal ({@link file://./../../core/view/story.ts}). React reads it as an external store.
 */
import type { EventEnvelope } from '../../core/protocol/event.ts'
import { isTerminal } from '../../core/protocol/status.ts'
import { applyEvent, beginStory, type Story } from '../../core/view/story.ts'
import { fetchStory } from '../api/calls.ts'
import { keepEvents, type RunNow, readKept } from '../api/kept-events.ts'
import { Problem, unreachable } from '../api/problem.ts'
import { currentToken, isStillSignedIn } from '../api/session.ts'
import type { Connection } from './connection.ts'
import { followEvents, type NumberedEvent } from './follow-events.ts'

export interface LiveInstance {
  /** Null until the snapshot has arrived. */
  story: Story | null
  /** All events in order, each once. The array grows in place; `count` changes with it. */
  events: readonly NumberedEvent[]
  count: number
  connection: Connection
  /** How long the transcripts of running LLM sessions are, in bytes. */
  transcripts: Readonly<Record<string, number>>
  /** Counts the polls of a page without a stream, which is not told how long transcripts are. */
  looks: number
  problem: Problem | null
}

/** Milliseconds between two attempts to get the snapshot. */
const RETRY_MS = 1_000

export class InstanceStore {
  readonly #id: string
  readonly #listeners = new Set<() => void>()
  #events: NumberedEvent[] = []
  #reduced: Story | undefined
  #snapshot: Story | undefined
  #view: LiveInstance
  #stop: (() => void) | undefined
  #isOpen = false

  constructor(id: string) {
    this.#id = id
    this.#view = {
      ...{ story: null, events: this.#events, count: 0 },
      ...{ connection: 'connecting', transcripts: {}, looks: 0, problem: null },
    }
  }

  readonly view = (): LiveInstance => this.#view

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (!this.#isOpen) void this.#open()
    return () => {
      this.#listeners.delete(listener)
      // React may replace a listener immediately: the connection is kept for a moment.
      setTimeout(() => this.#listeners.size === 0 && this.#close(), 0)
    }
  }

  async #open(): Promise<void> {
    this.#isOpen = true
    while (this.#isOpen && this.#snapshot === undefined) {
      try {
        this.#snapshot = await fetchStory(this.#id)
      } catch (error) {
        const problem = error instanceof Problem ? error : unreachable()
        if (problem.status > 0) return this.#show({ problem })
        this.#show({ connection: 'offline' })
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
    if (!this.#isOpen || this.#snapshot === undefined) return
    this.#reduced ??= beginStory(this.#snapshot.creation)
    this.#show({ story: this.#snapshot })
    const { snapshot, token } = { snapshot: this.#snapshot, token: currentToken() }
    const now = { id: this.#id, created: snapshot.creation.created_at, last: snapshot.lastSeq }
    const isOver = isTerminal(snapshot.status)
    const kept = isOver ? await readKept<EventEnvelope>(now) : undefined
    // It was closed, or opened again, while the browser looked.
    if (!this.#isOpen || this.#snapshot !== snapshot) return
    const known = { last: snapshot.lastSeq, isOver, ...(kept === undefined ? {} : { kept }) }
    this.#stop = followEvents(this.#id, known, {
      onEvents: (events) => this.#take(events),
      onTranscripts: (transcripts) => this.#show({ transcripts }),
      onLook: () => this.#show({ looks: this.#view.looks + 1 }),
      onConnection: (connection) => {
        this.#show({ connection })
        if (connection === 'ended' && kept === undefined) this.#keep(now, token)
      },
      onProblem: (problem) => this.#show({ problem, connection: 'offline' }),
    })
  }

  #keep(now: RunNow, token: string | null): void {
    const events = this.#events.map(({ event }) => event)
    void keepEvents({ ...now, last: this.#events.at(-1)?.seq ?? 0 }, events, () => isStillSignedIn(token))
  }

  #close(): void {
    this.#isOpen = false
    this.#stop?.()
    this.#stop = undefined
    // The next listener starts with a new snapshot.
    this.#snapshot = undefined
    this.#reduced = undefined
    this.#events = []
    this.#view = { ...this.#view, events: this.#events, count: 0 }
  }

  #take(events: readonly NumberedEvent[]): void {
    const reduced = this.#reduced
    if (reduced === undefined) return
    for (const { seq, event } of events) {
      this.#events.push({ seq, event })
      applyEvent(reduced, seq, event)
    }
    // Shows the snapshot until the applied events have reached its number, then the reduced story.
    const leads = reduced.lastSeq >= (this.#snapshot?.lastSeq ?? 0)
    this.#show({ story: leads ? { ...reduced } : (this.#snapshot ?? null), count: this.#events.length })
  }

  #show(change: Partial<LiveInstance>): void {
    this.#view = { ...this.#view, ...change }
    for (const listener of this.#listeners) listener()
  }
}
