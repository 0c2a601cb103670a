/** Fetches a data file of an instance over HTTP, whole or in part: for {@link file://./remote.ts}. */
import { fail } from '../../errors.ts'
import type { ByteRange, DataContent } from '../platform.ts'
import type { Answer, RemoteHttp } from './remote-http.ts'

export interface WantedFile {
  id: string
  path: string
  choose?: (bytes: number) => ByteRange
}

/** Throws `path_refused`, without sending a request, for a path that an HTTP client or proxy would resolve to another one. */
export async function openRemoteFile(http: RemoteHttp, { id, path, choose }: WantedFile): Promise<DataContent> {
  if (path.split('/').some((part) => part === '' || part === '.' || part === '..' || /[\\\0]/.test(part))) {
    // As on this machine, an unknown instance is reported before a refused path.
    await http.json('getInstanceHost', { params: { id } })
    throw fail('path_refused', { path })
  }
  const ask = { params: { id, path } }
  const whole = await http.open('getInstanceDataFile', ask)
  const bytes = Number(whole.headers['content-length'])
  if (!Number.isSafeInteger(bytes)) {
    whole.body.destroy()
    throw http.strange('it sent a file without its length')
  }
  const modified = Date.parse(String(whole.headers['last-modified']))
  const known = { bytes, modified_at: new Date(Number.isNaN(modified) ? 0 : modified).toISOString() }
  if (choose === undefined) return { ...known, stream: http.bytesOf(whole) }
  const { from, to } = chosen(choose, whole, bytes)
  if (from === 0 && to === bytes) return { ...known, stream: http.bytesOf(whole) }
  // This answer gave the size; the rest of it is not needed.
  whole.body.destroy()
  if (to <= from) return { ...known, stream: nothing() }
  const part = await http.open('getInstanceDataFile', { ...ask, headers: { range: `bytes=${from}-${to - 1}` } })
  if (part.statusCode !== 206) {
    part.body.destroy()
    throw http.strange('it does not support ranges of a file')
  }
  return { ...known, stream: http.bytesOf(part) }
}

function chosen(choose: (bytes: number) => ByteRange, whole: Answer, bytes: number): ByteRange {
  try {
    return choose(bytes)
  } catch (error) {
    whole.body.destroy()
    throw error
  }
}

async function* nothing(): AsyncGenerator<Buffer> {}
