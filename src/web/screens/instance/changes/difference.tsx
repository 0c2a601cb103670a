/** The changed files and the difference of one of them. Both are bounded: the server lists 3,000 files, and the page draws what is in sight. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Link } from 'wouter'
import type { RepoDiff, SkippedPath } from '../../../../core/protocol/changes.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { fetchRepoDiff } from '../../../api/calls.ts'
import { Ago } from '../../../parts/ago.tsx'
import { ErrorFence } from '../../../parts/error-fence.tsx'
import { Empty, Loading, Trouble } from '../../../parts/notice.tsx'
import { Counts } from './counts.tsx'
import { FileList } from './file-list.tsx'
import { PatchButtons } from './patch-buttons.tsx'
import { several } from './promotion-checks.ts'
import type { Choices } from './use-choice.ts'

const FileDiff = lazy(() => import('./file-diff.tsx'))

/** What a worker has not committed causes no event, so the work of a live instance is read again. */
const EVERY_MS = 10_000

interface DifferenceProps {
  id: string
  repo: string
  choices: Choices
  /** Another one where an event tells of the repository. */
  version: string
  isLive: boolean
}

export function Difference({ id, repo, choices, version, isLive }: DifferenceProps) {
  const { base, at, file } = choices.choice
  const diff = useQuery({
    queryKey: ['repo-diff', id, repo, base, at, version],
    queryFn: ({ signal }) => fetchRepoDiff(id, repo, { base, at }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: isLive && at === '' ? EVERY_MS : false,
  })
  if (diff.data === undefined) {
    return diff.isError ? <Trouble error={diff.error} /> : <Loading what="Reading the changes…" />
  }
  const { files, files_total: total, skipped, head } = diff.data
  const chosen = file === null ? files[0] : files.find(({ path }) => path.toWellFormed() === file.toWellFormed())
  const index = chosen === undefined ? -1 : files.indexOf(chosen)
  // A file after those that are listed can be named by an address.
  const path = chosen?.path ?? (total > files.length ? (file ?? undefined) : undefined)
  return (
    <section className="difference" aria-label="Changes" data-commit={head.commit} aria-busy={diff.isPlaceholderData}>
      {diff.isError && <Trouble error={diff.error} />}
      <div className="section-top">
        <Summary diff={diff.data} />
        {total > 0 && <PatchButtons id={id} repo={repo} wish={{ base, at }} />}
      </div>
      {total > files.length && (
        <p className="notice">
          Only the first {files.length.toLocaleString('en')} files are listed. <code>resolve instance pull</code>{' '}
          fetches all of them.
        </p>
      )}
      <Skipped paths={skipped} total={diff.data.skipped_total ?? skipped.length} />
      {total === 0 && <Empty>Nothing differs.</Empty>}
      {total > 0 && (
        <div className="changes-panes">
          <FileList files={files} chosen={index} hrefOf={(path) => choices.hrefOf({ file: path })} />
          {path === undefined ? (
            <Empty>The file {cleanLine(file ?? '')} has no change here.</Empty>
          ) : (
            <div className="change">
              {index >= 0 && <Steps files={files} index={index} choices={choices} />}
              <ErrorFence key={path}>
                <Suspense fallback={<Loading what="Loading…" />}>
                  <FileDiff id={id} repo={repo} path={path} listed={chosen} wish={{ base, at }} commit={head.commit} />
                </Suspense>
              </ErrorFence>
            </div>
          )}
        </div>
      )}
    </section>
  )
}

function Summary({ diff: { files_total: total, additions, deletions, head } }: { diff: RepoDiff }) {
  return (
    <p className="changes-sum">
      <strong>{total === 0 ? 'No changes' : several(total, 'changed file')}</strong>
      {total > 0 && <Counts additions={additions} deletions={deletions} />}
      <span className="quiet">
        {head.live ? 'read' : head.snapshot === null ? 'committed' : 'kept'} <Ago at={head.at} />
      </span>
    </p>
  )
}

const REASONS: Readonly<Record<SkippedPath['reason'], string>> = {
  too_large: 'too large',
  repository: 'a repository of its own',
  unreadable: 'it cannot be read',
  too_many: 'too many files',
}

function Skipped({ paths, total }: { paths: readonly SkippedPath[]; total: number }) {
  if (paths.length === 0) return null
  return (
    <details className="notice">
      <summary>
        Left out: {several(total, 'path')}
        {total > paths.length && `, of which ${paths.length} are named`}
      </summary>
      <ul className="plain-list">
        {paths.map(({ path, reason }) => (
          <li key={`${path} ${reason}`}>
            <bdi className="mono">{cleanLine(path)}</bdi> <span className="quiet">{REASONS[reason]}</span>
          </li>
        ))}
      </ul>
    </details>
  )
}

/** To the file before and after, without the list. */
function Steps({ files, index, choices }: { files: RepoDiff['files']; index: number; choices: Choices }) {
  const step = (to: number, label: string) => {
    const file = files[to]
    if (file === undefined) return <span className="button button-small button-off">{label}</span>
    return (
      <Link className="button button-small" href={choices.hrefOf({ file: file.path })} replace>
        {label}
      </Link>
    )
  }
  if (files.length < 2) return null
  return (
    <nav className="change-steps" aria-label="Step through the files">
      <span className="quiet">
        File {(index + 1).toLocaleString('en')} of {files.length.toLocaleString('en')}
      </span>
      {step(index - 1, 'Previous file')}
      {step(index + 1, 'Next file')}
    </nav>
  )
}
