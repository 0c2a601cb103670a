/** The logs: what the worker printed and logged, as `resolve instance logs` shows it; followed, searched and saved. */
import { useEffect, useRef, useState } from 'react'
import { useSearchParams } from 'wouter'
import { LOG_SOURCES, type LogLine, type LogSource } from '../../../../core/protocol/log.ts'
import { cleanText, indentedText } from '../../../../core/view/clean.ts'
import { logText } from '../../../../core/view/log-words.ts'
import { fetchLogs } from '../../../api/calls.ts'
import type { TabProps } from '../../../live/tab-props.ts'
import { Icon } from '../../../parts/icon.tsx'
import { Empty, Loading, Trouble } from '../../../parts/notice.tsx'
import { saveText } from '../../../parts/save-file.ts'
import { LogRow } from './log-row.tsx'
import { useLog } from './use-log.ts'

const SHOWN_MAX = 2_000
const AT_END_PX = 40

const SOURCE_WORDS: Readonly<Record<LogSource, string>> = {
  resolver: 'Resolver log',
  stdout: 'stdout',
  stderr: 'stderr',
  platform: 'Platform',
}

export default function LogTab({ id }: TabProps) {
  const { lines, trouble } = useLog(id, SHOWN_MAX)
  const [search, setSearch] = useSearchParams()
  const [follows, setFollows] = useState(true)
  const [saving, setSaving] = useState<unknown>(undefined)
  const box = useRef<HTMLDivElement>(null)
  const text = search.get('q') ?? ''
  const source = LOG_SOURCES.find((one) => one === search.get('source'))
  const put = (name: string, value: string) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true },
    )
  const shown = (lines ?? []).filter((line) => isMeant(line, source, text.trim().toLowerCase()))
  useEffect(() => {
    if (follows) box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [follows, shown.length])
  if (trouble !== undefined && lines === undefined) return <Trouble error={trouble} />
  if (lines === undefined) return <Loading what="Loading the log…" />
  if (lines.length === 0) return <Empty>Its worker has printed and logged nothing.</Empty>
  const save = () => void saveAll(id).catch(setSaving)
  return (
    <div className="log">
      <div className="timeline-tools" role="group" aria-label="Filter">
        <input
          type="search"
          aria-label="Search the log"
          placeholder="Search the log"
          value={text}
          onChange={(event) => put('q', event.target.value)}
        />
        <select aria-label="Source" value={source ?? ''} onChange={(event) => put('source', event.target.value)}>
          <option value="">All sources</option>
          {LOG_SOURCES.map((one) => (
            <option key={one} value={one}>
              {SOURCE_WORDS[one]}
            </option>
          ))}
        </select>
        <label className="toggle">
          <input type="checkbox" checked={follows} onChange={(event) => setFollows(event.target.checked)} />
          Follow
        </label>
        <button type="button" className="button button-small" onClick={save}>
          <Icon name="down" /> Download
        </button>
        <span className="quiet">{countText(shown.length, lines)}</span>
      </div>
      {saving !== undefined && <Trouble error={saving} />}
      {trouble !== undefined && <Trouble error={trouble} />}
      {shown.length === 0 && <Empty>No matching lines.</Empty>}
      <div
        className="log-box"
        ref={box}
        hidden={shown.length === 0}
        role="region"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
        aria-label="The last lines of the log"
        data-log={id}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          const isAtEnd = scrollHeight - scrollTop - clientHeight < AT_END_PX
          if (!isAtEnd && follows) setFollows(false)
        }}
      >
        {shown.map((line) => (
          <LogRow key={line.n} line={line} />
        ))}
      </div>
    </div>
  )
}

function isMeant(line: LogLine, source: LogSource | undefined, text: string): boolean {
  if (source !== undefined && line.source !== source) return false
  return text === '' || cleanText(line.text).toLowerCase().includes(text)
}

function countText(shown: number, lines: readonly LogLine[]): string {
  const first = lines[0]?.n ?? 1
  const all = `${lines.length} ${lines.length === 1 ? 'line' : 'lines'}`
  const count = shown === lines.length ? all : `${shown} of ${all}`
  return first > 1 ? `${count}; the download has the earlier ones` : count
}

/** Saves all lines that the server keeps, in the format of `resolve instance logs`. */
async function saveAll(id: string): Promise<void> {
  const texts: string[] = []
  const { signal } = new AbortController()
  for (let after = 0; ; ) {
    const { lines, next } = await fetchLogs(id, { after }, signal)
    for (const line of lines) texts.push(indentedText(logText(line)))
    if (next === after) break
    after = next
  }
  saveText(`${id}.log`, `${texts.join('\n')}\n`)
}
