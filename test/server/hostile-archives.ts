/** Tar archives made byte by byte, for what no program would write. */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'

export interface Entry {
  name: string
  type?: string
  mode?: string
  /** Default: that of the content. */
  size?: string
  content?: string | Buffer
  magic?: string
  prefix?: string
}

export const MANIFEST = {
  name: 'sent',
  version: '1.0.0',
  description: 'Was sent by a client',
  command: ['node', 'main.mjs'],
  container: {},
}

export function entry({ name, type = '0', mode = '0000644', size, content = '', magic, prefix = '' }: Entry): Buffer {
  const body = Buffer.from(content)
  const header = Buffer.alloc(512)
  header.write(name, 0, 'utf8')
  header.write(mode, 100, 'latin1')
  header.write(size ?? body.length.toString(8).padStart(11, '0'), 124, 'latin1')
  header.write('00000000000', 136, 'latin1')
  header.write('        ', 148, 'latin1')
  header.write(type, 156, 'latin1')
  header.write(magic ?? 'ustar\u000000', 257, 'latin1')
  header.write(prefix, 345, 'utf8')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return Buffer.concat([header, body, Buffer.alloc((512 - (body.length % 512)) % 512)])
}

export function pax(records: Record<string, string>, type = 'x'): Buffer {
  const line = (key: string, value: string) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`)
    let length = rest + String(rest).length
    if (rest + String(length).length > length) length += 1
    return `${length} ${key}=${value}\n`
  }
  const content = Object.entries(records).map(([key, value]) => line(key, value))
  return entry({ name: 'pax', type, content: content.join('') })
}

export const END = Buffer.alloc(1024)

/** A manifest, these entries, and the end mark. */
export function archive(...entries: Buffer[]): Buffer {
  return Buffer.concat([entry({ name: 'manifest.json', content: JSON.stringify(MANIFEST) }), ...entries, END])
}

export function zipped(...entries: Buffer[]): Buffer {
  return gzipSync(archive(...entries))
}

export function digestOf(tar: Buffer): string {
  return createHash('sha256').update(tar).digest('hex')
}
