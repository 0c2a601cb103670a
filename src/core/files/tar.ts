/**
 * Writes a tar archive (ustar, with a pax header where a name or a size needs one), file by file; export and image builds use
 * it.
 */

/** One file of the archive. `bytes` is fixed in advance: shorter content is filled with zeros, longer content is cut. */
export interface TarEntry {
  /** A relative path with "/". */
  path: string
  bytes: number
  modifiedMs: number
  /** Default 0600. */
  mode?: number
  content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>
}

const BLOCK = 512
const USTAR_NAME_BYTES = 100
const USTAR_SIZE_MAX = 0o77777777777

/** The archive in chunks; no file has an owner. */
export async function* tar(entries: AsyncIterable<TarEntry> | Iterable<TarEntry>): AsyncGenerator<Buffer> {
  for await (const entry of entries) {
    yield headerOf(entry)
    yield* exactly(entry)
    yield padding(entry.bytes)
  }
  yield Buffer.alloc(2 * BLOCK)
}

async function* exactly({ bytes, content }: TarEntry): AsyncGenerator<Buffer> {
  let left = bytes
  for await (const chunk of content) {
    if (left === 0) break
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, Math.min(left, chunk.byteLength))
    left -= piece.length
    yield piece
  }
  for (const zeros = Buffer.alloc(64 * 1024); left > 0; ) {
    const piece = zeros.subarray(0, Math.min(left, zeros.length))
    left -= piece.length
    yield piece
  }
}

function headerOf({ path, bytes, modifiedMs, mode = 0o600 }: TarEntry): Buffer {
  const isPlain = /^[ -~]*$/.test(path) && Buffer.byteLength(path) <= USTAR_NAME_BYTES && bytes <= USTAR_SIZE_MAX
  const plain = ustar(isPlain ? path : `file-${path.length}`, Math.min(bytes, USTAR_SIZE_MAX), modifiedMs, '0', mode)
  if (isPlain) return plain
  const records = Buffer.from(`${paxRecord('path', path)}${paxRecord('size', String(bytes))}`)
  return Buffer.concat([ustar('pax', records.length, modifiedMs, 'x'), records, padding(records.length), plain])
}

/** `length key=value\n`, where the length includes itself. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`)
  let length = rest + String(rest).length
  if (rest + String(length).length > length) length += 1
  return `${length} ${key}=${value}\n`
}

function ustar(name: string, size: number, modifiedMs: number, type: '0' | 'x', mode = 0o600): Buffer {
  const header = Buffer.alloc(BLOCK)
  const put = (at: number, text: string) => header.write(text, at, 'latin1')
  const octal = (value: number, width: number) =>
    Math.floor(value)
      .toString(8)
      .padStart(width - 1, '0')
  put(0, name)
  put(100, octal(mode, 8))
  put(108, octal(0, 8))
  put(116, octal(0, 8))
  put(124, octal(size, 12))
  put(136, octal(Math.max(0, modifiedMs / 1000), 12))
  put(148, '        ')
  put(156, type)
  put(257, 'ustar\u000000')
  const sum = header.reduce((total, byte) => total + byte, 0)
  put(148, `${octal(sum, 7)}\0 `)
  return header
}

function padding(bytes: number): Buffer {
  return Buffer.alloc((BLOCK - (bytes % BLOCK)) % BLOCK)
}
