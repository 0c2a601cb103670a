/** The data files of an instance, read again when an event says that they changed (spec, Events; R19). A preview never runs content of a file (threats UI-1). */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { Link, useSearchParams } from 'wouter'
import { isDataChanged } from '../../../../core/protocol/event.ts'
import { isTerminal } from '../../../../core/protocol/status.ts'
import { bytesText } from '../../../../core/view/bytes-text.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { fetchDataFiles } from '../../../api/calls.ts'
import type { LiveInstance } from '../../../live/instance-live.ts'
import type { TabProps } from '../../../live/tab-props.ts'
import { Ago } from '../../../parts/ago.tsx'
import { Icon } from '../../../parts/icon.tsx'
import { Empty, Loading, Trouble } from '../../../parts/notice.tsx'
import { DataPreview } from './data-preview.tsx'

/** Data is not polled: the list is read when the tab opens, after a data_changed, and at the end. */
export function useDataFiles({ id, live }: TabProps) {
  const hasEnded = live.story !== null && isTerminal(live.story.status)
  const changes = `${useLastDataChange(live)} ${hasEnded}`
  const files = useQuery({ queryKey: ['data', id], queryFn: () => fetchDataFiles(id) })
  const shown = useRef(changes)
  useEffect(() => {
    // One request at a time: what changed meanwhile is read by the next one.
    if (files.isFetching || shown.current === changes) return
    shown.current = changes
    void files.refetch()
  }, [changes, files.isFetching])
  return files
}

/** The number of the last event that says that data changed. Each event is looked at once. */
function useLastDataChange({ events, count }: LiveInstance): number {
  const read = useRef({ events, count: 0, seq: 0 })
  if (read.current.events !== events) read.current = { events, count: 0, seq: 0 }
  const { current } = read
  for (; current.count < count; current.count += 1) {
    const one = events[current.count]
    if (one !== undefined && isDataChanged(one.event.event_type)) current.seq = one.seq
  }
  return current.seq
}

export default function DataTab(props: TabProps) {
  const { data: files, isPending, isError, error } = useDataFiles(props)
  const [search] = useSearchParams()
  if (isPending) return <Loading what="Loading the list of files…" />
  if (isError) return <Trouble error={error} />
  if (files.length === 0) return <Empty>No data files yet.</Empty>
  // Selects the file that changed last.
  const path =
    search.get('file') ?? files.toSorted((a, b) => b.modified_at.localeCompare(a.modified_at))[0]?.path ?? null
  const chosen = files.find((file) => file.path === path)
  return (
    <div className="data">
      <nav aria-label="Files">
        <ul className="files">
          {files.map((file) => (
            <li key={file.path}>
              <Link
                href={`?file=${encodeURIComponent(file.path)}`}
                className="file"
                replace
                aria-current={file.path === path ? 'true' : undefined}
              >
                <Icon name="file" />
                <span className="file-name">{cleanLine(file.path)}</span>
                <span className="quiet">{bytesText(file.bytes)}</span>
                <span className="quiet wide-only">
                  <Ago at={file.modified_at} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      {chosen === undefined ? (
        <Empty>There is no file {cleanLine(path ?? '')}.</Empty>
      ) : (
        <DataPreview key={chosen.path} instance={props.id} file={chosen} />
      )}
    </div>
  )
}
