/** The data files of an instance, updated as they change. A preview never runs content of a file (threats UI-1). */
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link, useSearchParams } from 'wouter'
import { isTerminal } from '../../../../core/protocol/status.ts'
import { bytesText } from '../../../../core/view/bytes-text.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { fetchDataFiles } from '../../../api/calls.ts'
import type { TabProps } from '../../../live/tab-props.ts'
import { Ago } from '../../../parts/ago.tsx'
import { Icon } from '../../../parts/icon.tsx'
import { Empty, Loading, Trouble } from '../../../parts/notice.tsx'
import { DataPreview } from './data-preview.tsx'

const EVERY_MS = 3_000

export function useDataFiles({ id, live }: TabProps) {
  const hasEnded = live.story !== null && isTerminal(live.story.status)
  const files = useQuery({
    queryKey: ['data', id],
    queryFn: () => fetchDataFiles(id),
    refetchInterval: hasEnded ? false : EVERY_MS,
  })
  const changed = live.story?.changedData.join('\n')
  useEffect(() => {
    if (changed !== undefined) void files.refetch()
  }, [changed, hasEnded])
  return files
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
