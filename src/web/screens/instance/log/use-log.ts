/** The lines of a log, followed to the end of the instance; the last ones are kept. */
import { useEffect, useState } from 'react'
import type { LogLine } from '../../../../core/protocol/log.ts'
import { fetchLogs } from '../../../api/calls.ts'

const EVERY_MS = 1_000

export interface LogRead {
  lines: LogLine[] | undefined
  trouble: unknown
}

export function useLog(id: string, keptMax: number): LogRead {
  const [lines, setLines] = useState<LogLine[] | undefined>(undefined)
  const [trouble, setTrouble] = useState<unknown>(undefined)
  useEffect(() => {
    const left = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async (after: number | undefined) => {
      let next = after
      let isOver = false
      try {
        const page = await fetchLogs(id, after === undefined ? { tail: keptMax } : { after }, left.signal)
        next = page.next
        isOver = page.ended
        setTrouble(undefined)
        setLines((before = []) => (page.lines.length === 0 ? before : [...before, ...page.lines].slice(-keptMax)))
      } catch (error) {
        if (!left.signal.aborted) setTrouble(error)
      }
      if (!isOver && !left.signal.aborted) timer = setTimeout(() => void read(next), EVERY_MS)
    }
    void read(undefined)
    return () => {
      left.abort()
      clearTimeout(timer)
    }
  }, [id, keptMax])
  return { lines, trouble }
}
