/** The log: what the worker printed and logged, followed to the end of the instance. The last lines are shown. */
import { useEffect, useState } from 'react'
import type { LogLine } from '../../../core/protocol/log.ts'
import { indentedText } from '../../../core/view/clean.ts'
import { logText } from '../../../core/view/log-words.ts'
import { fetchLogs } from '../../api/calls.ts'
import type { TabProps } from '../../live/tab-props.ts'
import { Empty, Loading, Trouble } from '../../parts/notice.tsx'

const SHOWN_MAX = 2_000
const EVERY_MS = 1_000

export default function LogTab({ id }: TabProps) {
  const [lines, setLines] = useState<LogLine[] | undefined>(undefined)
  const [trouble, setTrouble] = useState<unknown>(undefined)
  useEffect(() => {
    const left = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async (after: number | undefined) => {
      let next = after
      let isOver = false
      try {
        const page = await fetchLogs(id, after === undefined ? { tail: SHOWN_MAX } : { after }, left.signal)
        next = page.next
        isOver = page.ended
        setTrouble(undefined)
        setLines((before = []) => (page.lines.length === 0 ? before : [...before, ...page.lines].slice(-SHOWN_MAX)))
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
  }, [id])
  if (trouble !== undefined && lines === undefined) return <Trouble error={trouble} />
  if (lines === undefined) return <Loading what="Loading the log…" />
  if (lines.length === 0) return <Empty>Its worker has printed and logged nothing.</Empty>
  return (
    <div className="raw">
      {trouble !== undefined && <Trouble error={trouble} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <pre className="raw-events" role="region" tabIndex={0} aria-label="The last lines of the log" data-log={id}>
        {lines.map((line) => indentedText(logText(line))).join('\n')}
      </pre>
    </div>
  )
}
