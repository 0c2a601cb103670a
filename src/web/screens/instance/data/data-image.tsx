/** Shows an image of the instance's own data; nothing is requested of another server (threats UI-2). */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { DataFile } from '../../../../core/protocol/instance.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { fetchData } from '../../../api/calls.ts'
import { Empty, Loading, Trouble } from '../../../parts/notice.tsx'
import { imageType } from './preview-kind.ts'

const IMAGE_MAX_BYTES = 16 * 1024 * 1024

/** `alt`: default the path. */
export function DataImage({ instance, file, alt }: { instance: string; file: DataFile; alt?: string }) {
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
  const [isBroken, setBroken] = useState(false)
  useEffect(() => {
    if (blob === undefined) return
    const made = URL.createObjectURL(blob)
    setUrl(made)
    setBroken(false)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  if (isLarge) return <Empty>This image is too large for a preview. Save it to open it.</Empty>
  if (isError) return <Trouble error={error} />
  if (isBroken) return <Empty>The file is not an image that the browser can show.</Empty>
  if (url === undefined) return <Loading what="Loading the image…" />
  return <img className="preview-image" src={url} alt={alt ?? cleanLine(file.path)} onError={() => setBroken(true)} />
}
