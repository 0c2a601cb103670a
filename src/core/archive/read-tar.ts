/**
 * Reads an untrusted tar archive that is in memory as a whole: nothing is written before all of it was checked (threats UP-1). It takes
 * regular files and directories only. Pure; {@link file://./open-archive.ts} calls it.
 */
import { UPLOAD_DEPTH_MAX, UPLOAD_ENTRIES_MAX, UPLOAD_MAX_BYTES, UPLOAD_NAME_MAX_BYTES } from '../limits.ts'
import { ArchiveNames } from './archive-names.ts'
import { refused } from './refused.ts'

export interface ArchiveFile {
  /** Relative, with "/", without "." and "..". */
  path: string
  isExecutable: boolean
  content: Buffer
}

export interface ArchiveTree {
  /** Parents before their children. */
  directories: string[]
  files: ArchiveFile[]
}

/** What an extended header says of the entry after it. */
interface Told {
  path?: string
  size?: number
}

const BLOCK = 512
/** A pax header or a long name is at most this long. */
const EXTENSION_MAX_BYTES = 64 * 1024
const KINDS: Readonly<Record<string, string>> = {
  '1': 'a hard link',
  '2': 'a symbolic link',
  '3': 'a device',
  '4': 'a device',
  '6': 'a FIFO',
  S: 'a sparse file',
}

/** Throws `archive_refused`. */
export function readTar(tar: Buffer): ArchiveTree {
  const names = new ArchiveNames()
  const files: ArchiveFile[] = []
  let bytes = 0
  let told: Told | undefined
  let at = 0
  for (let entries = 0; ; ) {
    const header = tar.subarray(at, at + BLOCK)
    if (header.length < BLOCK) throw refused('it ends in the middle of an entry, or has no end mark')
    if (isZero(header)) break
    const { name, type, mode, size } = readHeader(header)
    const content = tar.subarray(at + BLOCK, at + BLOCK + size)
    if (content.length < size) throw refused('it ends in the middle of an entry')
    at += BLOCK * (1 + Math.ceil(size / BLOCK))
    if (++entries > 2 * UPLOAD_ENTRIES_MAX)
      throw refused(`it has more than ${UPLOAD_ENTRIES_MAX} files and directories`)
    if (type === 'x' || type === 'L') {
      if (told !== undefined) throw refused('an entry has two extended headers')
      told = type === 'x' ? readPax(content) : { path: textOf(content) }
      continue
    }
    // What git archive writes for the whole archive: a comment.
    if (type === 'g') {
      const { path, size: length } = readPax(content)
      if (path !== undefined || length !== undefined) throw refused('it has one path or size for all entries')
      continue
    }
    const path = pathOf(told?.path ?? name)
    // Readers that believe one of two sizes find other entries than those that believe the other.
    if (told?.size !== undefined && told.size !== size) throw refused(`${JSON.stringify(path)} has two sizes`)
    told = undefined
    if (type === '5') {
      if (size !== 0) throw refused(`the directory ${JSON.stringify(path)} has content`)
      if (path !== '') names.addDirectory(path)
      continue
    }
    if (type !== '0') throw refused(`${JSON.stringify(path)} is ${KINDS[type] ?? 'of an unknown kind'}`)
    if (path === '') throw refused('a file has no name')
    bytes += size
    if (bytes > UPLOAD_MAX_BYTES) throw refused(`its files have more than ${UPLOAD_MAX_BYTES} bytes`)
    names.addFile(path)
    files.push({ path, isExecutable: (mode & 0o100) !== 0, content })
  }
  if (told !== undefined) throw refused('an extended header belongs to no entry')
  const rest = tar.subarray(at)
  if (rest.length < 2 * BLOCK) throw refused('it has no end mark')
  if (!isZero(rest)) throw refused('something follows its end mark')
  return { directories: names.directories(), files }
}

function readHeader(header: Buffer): { name: string; type: string; mode: number; size: number } {
  const sum = header.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0)
  if (octal(header.subarray(148, 156)) !== sum) throw refused('it is not a tar archive, or is damaged')
  const type = header[156] === 0 ? '0' : String.fromCharCode(header[156] as number)
  const size = octal(header.subarray(124, 136))
  const limit = type === 'x' || type === 'g' || type === 'L' ? EXTENSION_MAX_BYTES : UPLOAD_MAX_BYTES
  if (size > limit) throw refused(`an entry has ${size} bytes; the limit is ${limit}`)
  const name = textOf(header.subarray(0, 100))
  // Only ustar has a prefix; GNU tar keeps times at its place.
  const isUstar = header.subarray(257, 263).toString('latin1') === 'ustar\0'
  const prefix = isUstar ? textOf(header.subarray(345, 500)) : ''
  return { name: prefix === '' ? name : `${prefix}/${name}`, type, mode: octal(header.subarray(100, 108)), size }
}

/** A number of a header: octal digits, then spaces or NULs. Other encodings are for sizes above every limit here. */
function octal(field: Buffer): number {
  const found = /^ *([0-7]{1,12})[ \0]*$/.exec(field.toString('latin1'))
  if (found === null) throw refused('a header has a field that is not a number')
  return Number.parseInt(found[1] as string, 8)
}

/** A text of a header: what follows its first NUL must be NULs. */
function textOf(field: Buffer): string {
  const end = field.indexOf(0)
  const text = end === -1 ? field : field.subarray(0, end)
  if (end !== -1 && !isZero(field.subarray(end))) throw refused('a name has a NUL in it')
  return utf8(text)
}

/** Times, owners and comments are ignored; links and sparse files are refused. */
function readPax(content: Buffer): Told {
  const told: Told = {}
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at)
    const digits = space === -1 ? '' : content.subarray(at, space).toString('latin1')
    const length = /^[1-9][0-9]{0,6}$/.test(digits) ? Number(digits) : 0
    const end = at + length
    if (length === 0 || end > content.length || end <= space + 1 || content[end - 1] !== 0x0a)
      throw refused('a pax header is malformed')
    const record = utf8(content.subarray(space + 1, end - 1))
    const sign = record.indexOf('=')
    const [key, value] = [record.slice(0, sign), record.slice(sign + 1)]
    if (sign < 1) throw refused('a pax header is malformed')
    if (key === 'linkpath' || key === 'hdrcharset' || key.startsWith('GNU.sparse'))
      throw refused(`a pax header has ${JSON.stringify(key)}`)
    if (key === 'path' || key === 'size') {
      if (told[key] !== undefined) throw refused(`a pax header has ${JSON.stringify(key)} twice`)
      if (key === 'path') told.path = value
      else if (/^[0-9]{1,8}$/.test(value)) told.size = Number(value)
      else throw refused('a pax header has a size over the limit')
    }
    at = end
  }
  return told
}

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw refused('a name is not UTF-8', cause)
  }
}

/** Without a leading "./" and a trailing "/"; "" for the top. */
function pathOf(written: string): string {
  const shown = JSON.stringify(written.slice(0, 200))
  if (written.includes('\0')) throw refused('a name has a NUL in it')
  if (written.startsWith('/')) throw refused(`${shown} is an absolute name`)
  const path = written.replace(/^(\.\/)+/, '').replace(/\/$/, '')
  if (path === '' || path === '.') return ''
  if (/[\p{Cc}\\]/u.test(path)) throw refused(`${shown} has a control character or a backslash`)
  const parts = path.split('/')
  if (parts.includes('..')) throw refused(`${shown} leads out of the directory`)
  if (parts.includes('') || parts.includes('.')) throw refused(`${shown} is not a plain name`)
  if (parts.length > UPLOAD_DEPTH_MAX) throw refused(`${shown} is deeper than ${UPLOAD_DEPTH_MAX}`)
  if (parts.some((part) => Buffer.byteLength(part) > UPLOAD_NAME_MAX_BYTES))
    throw refused(`a name has more than ${UPLOAD_NAME_MAX_BYTES} bytes`)
  return path
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0)
}
