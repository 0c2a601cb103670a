/**
 * What the page knows of one instance, kept up to date by its events: the snapshot first, then every event from the beginning
 * through the same reducer as the terminal's ({@link file://./../../core/view/story.ts}). React reads it as an external store.
 */
import { applyEvent, beginStory, type Story } from '../../core/view/story.ts'
import { fetchStory } from '../api/calls.ts'
import { Problem, unreachable } from '../api/problem.ts'
import type { Connection } from './connection.ts'
import { followEvents, type NumberedEvent } from './follow-events.ts'

export interface LiveInstance {
  /** Null until the snapshot is there. */
  story: Story | null
  /** In order, each once. The list grows in place: look at `count`. */
  events: readonly NumberedEvent[]
  count: number
  connection: Connection
  problem: Problem | null
}

/** Milliseconds between two tries to get the snapshot. */
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
    this.#view = { story: null, events: this.#events, count: 0, connection: 'connecting', problem: null }
  }

  readonly view = (): LiveInstance => this.#view

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (!this.#isOpen) void this.#open()
    return () => {
      this.#listeners.delete(listener)
      // A listener that is replaced at once is no reason to begin anew.
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
    this.#stop = followEvents(this.#id, {
      onEvents: (events) => this.#take(events),
      onConnection: (connection) => this.#show({ connection }),
      onProblem: (problem) => this.#show({ problem, connection: 'offline' }),
    })
  }

  #close(): void {
    this.#isOpen = false
    this.#stop?.()
    this.#stop = undefined
    // Whoever comes back begins from a new snapshot.
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
    // The snapshot stands until the events have caught up with it; from then on they lead.
    const leads = reduced.lastSeq >= (this.#snapshot?.lastSeq ?? 0)
    this.#show({ story: leads ? { ...reduced } : (this.#snapshot ?? null), count: this.#events.length })
  }

  #show(change: Partial<LiveInstance>): void {
    this.#view = { ...this.#view, ...change }
    for (const listener of this.#listeners) listener()
  }
}
