/** The changed files. Only rows in sight are drawn; the list is one stop of the Tab key, and the arrow keys move within it. */
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { Link } from 'wouter'
import type { ChangedFile } from '../../../../core/protocol/changes.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { Empty } from '../../../parts/notice.tsx'
import { Counts } from './counts.tsx'

const ROW_PX = 52

export const CHANGE_WORDS: Readonly<Record<ChangedFile['change'], { mark: string; word: string }>> = {
  added: { mark: 'A', word: 'added' },
  deleted: { mark: 'D', word: 'deleted' },
  modified: { mark: 'M', word: 'modified' },
  renamed: { mark: 'R', word: 'renamed' },
  copied: { mark: 'C', word: 'copied' },
  type_changed: { mark: 'T', word: 'of another type' },
}

interface FileListProps {
  files: readonly ChangedFile[]
  /** The index of the file that is shown; -1 for none. */
  chosen: number
  hrefOf: (path: string) => string
}

export function FileList({ files, chosen, hrefOf }: FileListProps) {
  const [text, setText] = useState('')
  const wanted = useDeferredValue(text.trim().toLowerCase())
  const rows = useMemo(
    () => files.flatMap((file, index) => (wanted === '' || isNamed(file, wanted) ? [{ file, index }] : [])),
    [files, wanted],
  )
  const box = useRef<HTMLDivElement>(null)
  const chosenRow = rows.findIndex(({ index }) => index === chosen)
  const [moved, setMoved] = useState<number | null>(null)
  const stop = Math.min(Math.max(moved ?? chosenRow, 0), Math.max(rows.length - 1, 0))
  const takesFocus = useRef(false)
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
    // The stop of the Tab key is always there.
    rangeExtractor: (range) => [...new Set([...defaultRangeExtractor(range), stop])].sort((a, b) => a - b),
  })
  useEffect(() => setMoved(null), [chosen, wanted])
  useEffect(() => {
    if (chosenRow >= 0) list.scrollToIndex(chosenRow, { align: 'auto' })
  }, [chosenRow, list])
  useEffect(() => {
    if (!takesFocus.current) return
    takesFocus.current = false
    box.current?.querySelector<HTMLElement>(`[data-row="${stop}"] a`)?.focus({ preventScroll: true })
  }, [stop])
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowDown: stop + 1, ArrowUp: stop - 1, Home: 0, End: rows.length - 1 }[event.key]
    if (to === undefined) return
    event.preventDefault()
    const next = Math.min(Math.max(to, 0), rows.length - 1)
    if (next === stop) return
    takesFocus.current = true
    list.scrollToIndex(next, { align: 'auto' })
    setMoved(next)
  }
  return (
    <nav className="change-files" aria-label="Changed files">
      {files.length > 8 && (
        <input
          type="search"
          aria-label="Search the files"
          placeholder="Search the files"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      )}
      {rows.length === 0 && <Empty>No file has this in its name.</Empty>}
      <div className="change-box" ref={box} hidden={rows.length === 0}>
        <ul style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map(({ index: row, key, start }) => {
            const one = rows[row]
            if (one === undefined) return null
            return (
              <li
                key={key}
                data-row={row}
                style={{ transform: `translateY(${start}px)`, height: ROW_PX }}
                aria-setsize={rows.length}
                aria-posinset={row + 1}
              >
                <Row
                  file={one.file}
                  href={hrefOf(one.file.path)}
                  isChosen={one.index === chosen}
                  isStop={row === stop}
                  onKeyDown={onKeyDown}
                />
              </li>
            )
          })}
        </ul>
      </div>
    </nav>
  )
}

function isNamed({ path, old_path: old = '' }: ChangedFile, wanted: string): boolean {
  return path.toLowerCase().includes(wanted) || old.toLowerCase().includes(wanted)
}

interface RowProps {
  file: ChangedFile
  href: string
  isChosen: boolean
  isStop: boolean
  onKeyDown: (event: KeyboardEvent) => void
}

function Row({ file, href, isChosen, isStop, onKeyDown }: RowProps) {
  const { change, additions, deletions, binary } = file
  const path = cleanLine(file.path)
  const slash = path.lastIndexOf('/')
  const { mark, word } = CHANGE_WORDS[change]
  return (
    <Link
      href={href}
      replace
      className="change-file"
      tabIndex={isStop ? 0 : -1}
      onKeyDown={onKeyDown}
      aria-current={isChosen ? 'true' : undefined}
      title={path}
    >
      <span className="change-mark" data-change={change} aria-hidden="true">
        {mark}
      </span>
      <span className="change-name">
        <bdi>{path.slice(slash + 1)}</bdi>
        {slash > 0 && (
          <>
            <span className="out-of-sight"> in </span>
            <bdi className="quiet">{path.slice(0, slash)}</bdi>
          </>
        )}
      </span>
      <span className="out-of-sight">, {word}, </span>
      {binary === true ? <span className="quiet">binary</span> : <Counts additions={additions} deletions={deletions} />}
    </Link>
  )
}
