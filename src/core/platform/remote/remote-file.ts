/** One data file of an instance, fetched over HTTP, whole or a part: for {@link file://./remote.ts}. */
import { fail } from '../../errors.ts'
import type { ByteRange, DataContent } from '../platform.ts'
import type { Answer, RemoteHttp } from './remote-http.ts'

export interface WantedFile {
  id: string
  path: string
  choose?: (bytes: number) => ByteRange
}

/** Throws `path_refused` without asking for a path that an HTTP client or proxy would resolve into another one. */
export async function openRemoteFile(http: RemoteHttp, { id, path, choose }: WantedFile): Promise<DataContent> {
  if (path.split('/').some((part) => part === '' || part === '.' || part === '..' || /[\\\0]/.test(part))) {
    // An instance that is unknown is told first, as on this machine.
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
  // Its size is known now; the rest of this answer is not wanted.
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
