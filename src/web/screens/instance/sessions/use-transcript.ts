/** What a session did, read on while it runs. No event tells of a line of a transcript: it is asked for, from where the last answer ended. */
import { useEffect, useRef, useState } from 'react'
import type { TranscriptEvent } from '../../../../core/protocol/session/session.ts'
import { fetchTranscript } from '../../../api/calls.ts'

const EVERY_MS = 1_000
/** Of a longer transcript, the last entries. */
export const SHOWN_MAX = 2_000

export interface Entry {
  /** Its place in the transcript, from 0. */
  at: number
  event: TranscriptEvent
}

export interface TranscriptView {
  /** Undefined before the first answer. */
  entries: readonly Entry[] | undefined
  /** Entries that are no longer held. */
  left: number
  trouble: unknown
}

export function useTranscript(id: string, session: string, isRunning: boolean): TranscriptView {
  const [view, setView] = useState<TranscriptView>({ entries: undefined, left: 0, trouble: undefined })
  const running = useRef(isRunning)
  const after = useRef(0)
  useEffect(() => {
    running.current = isRunning
    const gone = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async () => {
      let isMore = running.current
      try {
        const { events, meta } = await fetchTranscript(id, session, after.current, gone.signal)
        if (gone.signal.aborted) return
        isMore = running.current || meta.truncated
        after.current = meta.next
        setView((before) => added(before, events))
        if (meta.truncated) return void read()
      } catch (error) {
        if (gone.signal.aborted) return
        setView((before) => ({ ...before, trouble: error }))
      }
      if (isMore) timer = setTimeout(() => void read(), EVERY_MS)
    }
    // Also when it has ended: for the lines since the last look.
    void read()
    return () => {
      gone.abort()
      clearTimeout(timer)
    }
  }, [id, session, isRunning])
  return view
}

function added({ entries = [], left }: TranscriptView, events: readonly TranscriptEvent[]): TranscriptView {
  const first = left + entries.length
  const all = [...entries, ...events.map((event, index) => ({ at: first + index, event }))]
  const kept = all.slice(-SHOWN_MAX)
  return { entries: kept, left: left + all.length - kept.length, trouble: undefined }
}
