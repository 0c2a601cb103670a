/** The data files of an instance, read again when an event says that they changed (spec, Events; R19). A preview never runs content of a file (threats UI-1). */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { isDataChanged } from '../../../../core/protocol/event.ts'
import type { DataFile } from '../../../../core/protocol/instance.ts'
import { isTerminal } from '../../../../core/protocol/status.ts'
import { bytesText } from '../../../../core/view/bytes-text.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { fetchDataArchive, fetchDataFiles } from '../../../api/calls.ts'
import type { LiveInstance } from '../../../live/instance-live.ts'
import type { TabProps } from '../../../live/tab-props.ts'
import { Icon } from '../../../parts/icon.tsx'
import { Empty, Loading, Trouble } from '../../../parts/notice.tsx'
import { saveBlob } from '../../../parts/save-file.ts'
import { DataPreview } from './data-preview.tsx'
import { FileList } from './file-list.tsx'

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
  const asked = search.get('file')
  // Selects the file that changed last. On a phone the list comes first, and a file that was asked for covers it.
  const path = asked ?? files.toSorted((a, b) => b.modified_at.localeCompare(a.modified_at))[0]?.path ?? null
  const chosen = files.find((file) => file.path === path)
  return (
    <div className="data" data-view={asked === null ? 'list' : 'file'}>
      <div className="data-side">
        <FileList files={files} chosen={path} />
        <SaveAll instance={props.id} files={files} />
      </div>
      <div className="data-main">
        <Link className="data-back" href="?">
          ‹ All files
        </Link>
        {chosen === undefined ? (
          <Empty>There is no file {cleanLine(path ?? '')}.</Empty>
        ) : (
          <DataPreview key={chosen.path} instance={props.id} file={chosen} files={files} />
        )}
      </div>
    </div>
  )
}

/** The browser holds the archive before it saves it. */
const ARCHIVE_MAX_BYTES = 512 * 1024 * 1024

function SaveAll({ instance, files }: { instance: string; files: readonly DataFile[] }) {
  const [state, setState] = useState<'idle' | 'busy' | { trouble: unknown }>('idle')
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const save = async () => {
    setState('busy')
    try {
      saveBlob(`data-${instance}.tar.gz`, await (await fetchDataArchive(instance)).blob())
      setState('idle')
    } catch (error) {
      setState({ trouble: error })
    }
  }
  if (bytes > ARCHIVE_MAX_BYTES) {
    return <p className="quiet">{bytesText(bytes)}: too much for one download of the page. Save files one by one.</p>
  }
  return (
    <>
      <button type="button" className="button button-small" disabled={state === 'busy'} onClick={() => void save()}>
        <Icon name="down" /> {state === 'busy' ? 'Packing…' : `Save all (${bytesText(bytes)})`}
      </button>
      {typeof state === 'object' && <Trouble error={state.trouble} />}
    </>
  )
}
