/** Previews one data file: text, JSON, a table, a difference, Markdown without raw HTML, or an image. Other files can only be downloaded. */
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import type { DataFile } from '../../../../core/protocol/instance.ts'
import { bytesText } from '../../../../core/view/bytes-text.ts'
import { cleanLine, cleanText } from '../../../../core/view/clean.ts'
import { fetchData } from '../../../api/calls.ts'
import { sentenceOf } from '../../../api/problem.ts'
import { Icon } from '../../../parts/icon.tsx'
import { JsonView } from '../../../parts/json-view.tsx'
import { Empty, Loading, Trouble } from '../../../parts/notice.tsx'
import { saveBlob } from '../../../parts/save-file.ts'
import { DataImage } from './data-image.tsx'
import { type PreviewKind, previewKind } from './preview-kind.ts'
import { DiffView, SheetView, TextView } from './text-views.tsx'
import '../../../styles/data.css'

const Markdown = lazy(() => import('./markdown.tsx'))

/** The maximum size of a preview; the download is complete. */
const TEXT_MAX_BYTES = 512 * 1024

interface Props {
  instance: string
  file: DataFile
  /** The files that Markdown may show images of. Default: none. */
  files?: readonly DataFile[]
}

export function DataPreview({ instance, file, files = [] }: Props) {
  const kind = previewKind(file.path)
  const [isSource, setSource] = useState(false)
  const [trouble, setTrouble] = useState<string | null>(null)
  const save = async () => {
    setTrouble(null)
    try {
      saveBlob(file.path.split('/').at(-1) ?? 'file', await (await fetchData(instance, file.path)).blob())
    } catch (error) {
      setTrouble(sentenceOf(error))
    }
  }
  const hasSource = kind === 'markdown' || kind === 'table' || kind === 'json'
  return (
    <section className="preview" aria-label={`File ${cleanLine(file.path)}`}>
      <div className="section-top">
        <h2>{cleanLine(file.path)}</h2>
        <span className="preview-tools">
          {hasSource && (
            <button
              type="button"
              className="button button-small button-quiet"
              aria-pressed={isSource}
              onClick={() => setSource(!isSource)}
            >
              Source
            </button>
          )}
          <button type="button" className="button button-small" onClick={() => void save()}>
            <Icon name="down" /> Save
          </button>
        </span>
      </div>
      {trouble !== null && <Trouble error={trouble} />}
      {kind === 'none' && <Empty>This kind of file has no preview. Save it to open it.</Empty>}
      {kind === 'image' && <DataImage instance={instance} file={file} />}
      {kind !== 'none' && kind !== 'image' && (
        <Text instance={instance} file={file} files={files} kind={isSource ? 'text' : kind} />
      )}
    </section>
  )
}

type TextProps = Required<Props> & { kind: PreviewKind }

function Text({ instance, file, files, kind }: TextProps) {
  const { data, isPending, isError, error } = useQuery({
    queryKey: ['file', instance, file.path, file.modified_at, file.bytes],
    queryFn: async () => {
      if (file.bytes === 0) return ''
      return new TextDecoder().decode(
        await (await fetchData(instance, file.path, { limit: TEXT_MAX_BYTES })).arrayBuffer(),
      )
    },
    placeholderData: (before: string | undefined) => before,
  })
  if (isPending) return <Loading what="Loading the file…" />
  if (isError) return <Trouble error={error} />
  const isCut = file.bytes > TEXT_MAX_BYTES
  // A part of a JSON document or of a Markdown text means something else than the whole.
  const shown = isCut && (kind === 'json' || kind === 'markdown') ? 'text' : kind
  return (
    <>
      {isCut && <p className="quiet">Showing the first {bytesText(TEXT_MAX_BYTES)}.</p>}
      {data === '' ? (
        <Empty>The file is empty.</Empty>
      ) : (
        <Shown text={data} kind={shown} {...{ instance, file, files }} />
      )}
    </>
  )
}

function Shown({ text, kind, instance, file, files }: TextProps & { text: string }) {
  const value = kind === 'json' ? parsed(text) : undefined
  if (value !== undefined) return <JsonView value={value} label="File" />
  if (kind === 'table') return <SheetView text={text} />
  if (kind === 'diff') return <DiffView text={text} />
  if (kind !== 'markdown') return <TextView text={text} />
  return (
    <Suspense fallback={<Loading what="Loading…" />}>
      <Markdown text={cleanText(text)} place={{ instance, path: file.path, files }} />
    </Suspense>
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
