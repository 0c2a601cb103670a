/**
 * What a session did, read on while it runs: the event stream tells that the transcript grew, then what is new is asked for, from where the
 * last answer ended.
 */
import { useEffect, useState, useSyncExternalStore } from 'react'
import type { TranscriptEvent } from '../../../../core/protocol/session/session.ts'
import { fetchTranscript } from '../../../api/calls.ts'

/** Of a longer transcript, the last entries; older ones on request. */
export const SHOWN_MAX = 2_000
/** An answer holds no more: what one request gets again. */
const PIECE_BYTES = 16 * 1024 * 1024
const RETRY_MS = 2_000

export interface Entry {
  /** Its place in the transcript, from 0. */
  at: number
  event: TranscriptEvent
}

export interface TranscriptView {
  /** Undefined before the first answer. */
  entries: readonly Entry[] | undefined
  /** Entries that are not held. */
  left: number
  isLoadingOlder: boolean
  trouble: unknown
}

export interface Growth {
  isRunning: boolean
  /** How long the transcript is, as the event stream told it. */
  bytes: number | undefined
  /** Counts the looks of a page that has no event stream. */
  looks: number
}

export function useTranscript(id: string, session: string, { isRunning, bytes, looks }: Growth) {
  const [reader] = useState(() => new TranscriptReader(id, session))
  const view = useSyncExternalStore(reader.subscribe, reader.view)
  // Also when the session has ended: for the lines since the last look.
  useEffect(() => reader.look(), [reader, isRunning, looks])
  useEffect(() => reader.grew(bytes), [reader, bytes])
  return { ...view, loadOlder: reader.loadOlder }
}

/** A part of the transcript that one request gets. */
interface Piece {
  after: number
  first: number
  count: number
}

class TranscriptReader {
  readonly #id: string
  readonly #session: string
  readonly #listeners = new Set<() => void>()
  readonly #pieces: Piece[] = []
  #view: TranscriptView = { entries: undefined, left: 0, isLoadingOlder: false, trouble: undefined }
  #after = 0
  #mostHeld = SHOWN_MAX
  #gone = new AbortController()
  #isReading = false
  #isAskedAgain = false
  /** What was told while a request was under way, which may have answered it. */
  #grewTo = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(id: string, session: string) {
    this.#id = id
    this.#session = session
  }

  readonly view = (): TranscriptView => this.#view

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (this.#gone.signal.aborted) this.#gone = new AbortController()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      clearTimeout(this.#timer)
      this.#gone.abort()
    }
  }

  grew(bytes: number | undefined): void {
    if (bytes === undefined || bytes <= this.#after) return
    if (this.#isReading) this.#grewTo = bytes
    else this.look()
  }

  look(): void {
    this.#isAskedAgain = true
    if (!this.#isReading) void this.#read()
  }

  readonly loadOlder = async (): Promise<void> => {
    if (this.#view.isLoadingOlder) return
    const { signal } = this.#gone
    this.#show({ isLoadingOlder: true })
    try {
      const end = this.#view.left
      const begin = Math.max(0, end - SHOWN_MAX)
      const older: Entry[] = []
      for (const { after, first, count } of this.#pieces) {
        if (first >= end || first + count <= begin) continue
        const { events } = await fetchTranscript(this.#id, this.#session, after, signal)
        // The last piece may have grown since.
        const known = events.slice(0, count).map((event, index) => ({ at: first + index, event }))
        older.push(...known.filter(({ at }) => at >= begin && at < end))
      }
      this.#mostHeld += older.length
      // What came meanwhile stays; what was given up meanwhile is not asked for again.
      const entries = [...older, ...(this.#view.entries ?? []).filter(({ at }) => at >= end)]
      this.#show({ entries, left: entries[0]?.at ?? 0, isLoadingOlder: false, trouble: undefined })
    } catch (error) {
      if (!signal.aborted) this.#show({ isLoadingOlder: false, trouble: error })
    }
  }

  async #read(): Promise<void> {
    this.#isReading = true
    clearTimeout(this.#timer)
    const { signal } = this.#gone
    try {
      while (this.#isAskedAgain && !signal.aborted) {
        this.#isAskedAgain = false
        const { events, meta } = await fetchTranscript(this.#id, this.#session, this.#after, signal)
        if (signal.aborted) break
        if (meta.truncated || this.#grewTo > meta.next) this.#isAskedAgain = true
        this.#grewTo = 0
        this.#take(events, meta.next)
      }
    } catch (error) {
      if (!signal.aborted) {
        this.#show({ trouble: error })
        this.#timer = setTimeout(() => this.look(), RETRY_MS)
      }
    } finally {
      this.#isReading = false
    }
  }

  #take(events: readonly TranscriptEvent[], next: number): void {
    const { entries = [], left } = this.#view
    const first = left + entries.length
    const last = this.#pieces.at(-1)
    if (last !== undefined && next - last.after <= PIECE_BYTES) last.count += events.length
    else this.#pieces.push({ after: this.#after, first, count: events.length })
    this.#after = next
    const all = [...entries, ...events.map((event, index) => ({ at: first + index, event }))]
    const kept = all.slice(-this.#mostHeld)
    this.#show({ entries: kept, left: left + all.length - kept.length, trouble: undefined })
  }

  #show(change: Partial<TranscriptView>): void {
    this.#view = { ...this.#view, ...change }
    for (const listener of this.#listeners) listener()
  }
}
