/** The difference of one file. The library parses the patch and lays out the lines; every line becomes a text node. */
import { useQuery } from '@tanstack/react-query'
import { Fragment, useMemo, useState } from 'react'
import { Decoration, Diff, type FileData, Hunk, parseDiff } from 'react-diff-view'
import type { ChangedFile } from '../../../../core/protocol/changes.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { type DiffWish, fetchRepoDiff } from '../../../api/calls.ts'
import { CopyButton } from '../../../parts/copy-button.tsx'
import { Empty, Loading, Trouble } from '../../../parts/notice.tsx'
import { Counts } from './counts.tsx'
import { CHANGE_WORDS } from './file-list.tsx'
import { seenText, shownPatch } from './patch-text.ts'

/** Lines that are drawn at first, and more at each press. */
const LINES_MAX = 2_000

interface FileDiffProps {
  id: string
  repo: string
  path: string
  /** Undefined for a file after those that are listed. */
  listed: ChangedFile | undefined
  wish: DiffWish
  /** Of the state that is shown: a newer one is read again. */
  commit: string
}

export default function FileDiff({ id, repo, path, listed, wish, commit }: FileDiffProps) {
  const diff = useQuery({
    queryKey: ['file-diff', id, repo, wish.base, wish.at, path, commit],
    queryFn: ({ signal }) => fetchRepoDiff(id, repo, { ...wish, path, patch: true }, signal),
    placeholderData: (before) => (before?.files[0]?.path === path ? before : undefined),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const file = listed ?? diff.data?.files[0]
  const patch = diff.data?.patch ?? ''
  return (
    <section className="change-body" aria-labelledby="change-title" data-file={path}>
      <header className="change-head">
        <h2 id="change-title">
          {file?.old_path !== undefined && (
            <>
              <bdi>{cleanLine(file.old_path)}</bdi>
              <span className="out-of-sight"> is now </span>
              <span aria-hidden="true"> → </span>
            </>
          )}
          <bdi>{cleanLine(path)}</bdi>
        </h2>
        {file !== undefined && (
          <span className="change-facts">
            <span className="quiet">{CHANGE_WORDS[file.change].word}</span>
            {file.binary !== true && <Counts additions={file.additions} deletions={file.deletions} />}
            {patch !== '' && diff.data?.patch_cut === false && file.binary !== true && (
              <CopyButton text={patch}>Copy this patch</CopyButton>
            )}
          </span>
        )}
      </header>
      {diff.isError && <Trouble error={diff.error} />}
      {diff.isPending && <Loading what="Reading the difference…" />}
      {diff.data !== undefined && file !== undefined && !diff.isError && (
        <Body patch={patch} isCut={diff.data.patch_cut} file={file} />
      )}
    </section>
  )
}

function Body({ patch, isCut, file }: { patch: string; isCut: boolean; file: ChangedFile }) {
  const [max, setMax] = useState(LINES_MAX)
  const shown = useMemo(() => shownPatch(patch, max), [patch, max])
  const parsed = useMemo(() => parsedOrText(shown.text), [shown.text])
  const isMore = shown.shown < shown.lines
  if (file.binary === true) return <Empty>A binary file: there are no lines to show.</Empty>
  if (typeof parsed !== 'string' && parsed.every(({ hunks }) => hunks.length === 0)) {
    return <Empty>{file.change === 'renamed' ? 'Only its name changed.' : 'No line of it changed.'}</Empty>
  }
  return (
    <>
      {shown.hasUnseen && (
        <p className="notice notice-warning">
          Some characters cannot be seen or change the reading direction. They are shown as their code, such as
          ⟨U+202E⟩.
        </p>
      )}
      <div
        className="change-lines"
        role="region"
        aria-label="Changed lines"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
      >
        {typeof parsed === 'string' ? <pre>{parsed}</pre> : parsed.map((one, at) => <OneFile key={at} file={one} />)}
      </div>
      {isMore && (
        <p className="change-more">
          <span>
            Showing {shown.shown.toLocaleString('en')} of {shown.lines.toLocaleString('en')} lines.
          </span>
          <button type="button" className="button button-small" onClick={() => setMax(max + LINES_MAX)}>
            Show more
          </button>
        </p>
      )}
      {isCut && !isMore && (
        <p className="notice">The difference is longer than what the server sends to a page; this is its beginning.</p>
      )}
    </>
  )
}

/** Several files can have the same name once it is cleaned. */
function OneFile({ file: { hunks, type } }: { file: FileData }) {
  return (
    <Diff viewType="unified" diffType={type} hunks={hunks} className="diff">
      {(drawn) =>
        drawn.map((hunk) => (
          <Fragment key={hunk.content}>
            <Decoration className="diff-place">{<span>{hunk.content}</span>}</Decoration>
            <Hunk hunk={hunk} />
          </Fragment>
        ))
      }
    </Diff>
  )
}

/** A patch that the parser does not take is shown as its text. */
function parsedOrText(text: string): FileData[] | string {
  try {
    return parseDiff(text)
  } catch {
    return seenText(text.replaceAll('\n', '\u2028')).text.replaceAll('⟨U+2028⟩', '\n')
  }
}
