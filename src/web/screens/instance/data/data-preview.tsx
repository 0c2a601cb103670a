/** Previews one data file: text, JSON, Markdown without raw HTML, or an image. Other files can only be downloaded. */
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState } from 'react'
import type { DataFile } from '../../../../core/protocol/instance.ts'
import { bytesText } from '../../../../core/view/bytes-text.ts'
import { cleanLine, cleanText } from '../../../../core/view/clean.ts'
import { fetchData } from '../../../api/calls.ts'
import { sentenceOf } from '../../../api/problem.ts'
import { Icon } from '../../../parts/icon.tsx'
import { JsonView } from '../../../parts/json-view.tsx'
import { Empty, Loading, Trouble } from '../../../parts/notice.tsx'
import { saveBlob } from '../../../parts/save-file.ts'
import { imageType, type PreviewKind, previewKind } from './preview-kind.ts'

const Markdown = lazy(() => import('./markdown.tsx'))

/** The maximum size of a preview; the download is complete. */
const TEXT_MAX_BYTES = 512 * 1024
const IMAGE_MAX_BYTES = 16 * 1024 * 1024

export function DataPreview({ instance, file }: { instance: string; file: DataFile }) {
  const kind = previewKind(file.path)
  const [trouble, setTrouble] = useState<string | null>(null)
  const save = async () => {
    setTrouble(null)
    try {
      saveBlob(file.path.split('/').at(-1) ?? 'file', await (await fetchData(instance, file.path)).blob())
    } catch (error) {
      setTrouble(sentenceOf(error))
    }
  }
  return (
    <section className="preview" aria-label={`File ${cleanLine(file.path)}`}>
      <div className="section-top">
        <h2>{cleanLine(file.path)}</h2>
        <button type="button" className="button button-small" onClick={() => void save()}>
          <Icon name="down" /> Save
        </button>
      </div>
      {trouble !== null && <Trouble error={trouble} />}
      {kind === 'none' && <Empty>This kind of file has no preview. Save it to open it.</Empty>}
      {kind === 'image' && <Image instance={instance} file={file} />}
      {kind !== 'none' && kind !== 'image' && <Text instance={instance} file={file} kind={kind} />}
    </section>
  )
}

function Text({ instance, file, kind }: { instance: string; file: DataFile; kind: PreviewKind }) {
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
  return (
    <>
      {isCut && <p className="quiet">Showing the first {bytesText(TEXT_MAX_BYTES)}.</p>}
      {data === '' ? <Empty>The file is empty.</Empty> : <Shown text={data} kind={isCut ? 'text' : kind} />}
    </>
  )
}

function Shown({ text, kind }: { text: string; kind: PreviewKind }) {
  const value = kind === 'json' ? parsed(text) : undefined
  if (value !== undefined) return <JsonView value={value} label="File" />
  if (kind === 'markdown') {
    return (
      <Suspense fallback={<Loading what="Loading…" />}>
        <Markdown text={cleanText(text)} />
      </Suspense>
    )
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <pre className="preview-text" role="region" tabIndex={0} aria-label="Its text">
      {cleanText(text)}
    </pre>
  )
}

function Image({ instance, file }: { instance: string; file: DataFile }) {
  const isLarge = file.bytes > IMAGE_MAX_BYTES
  const {
    data: blob,
    isError,
    error,
  } = useQuery({
    queryKey: ['image', instance, file.path, file.modified_at, file.bytes],
    queryFn: async () =>
      new Blob([await (await fetchData(instance, file.path)).arrayBuffer()], { type: imageType(file.path) }),
    enabled: !isLarge,
  })
  const [url, setUrl] = useState<string | undefined>()
  useEffect(() => {
    if (blob === undefined) return
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  if (isLarge) return <Empty>This image is too large for a preview. Save it to open it.</Empty>
  if (isError) return <Trouble error={error} />
  if (url === undefined) return <Loading what="Loading the image…" />
  return <img className="preview-image" src={url} alt={cleanLine(file.path)} />
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
