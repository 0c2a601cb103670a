/**
 * The content type of a data file, by its name alone (threats UI-1). The table is closed; a type outside it is served as a
 * download.
 */

interface ContentType {
  type: string
  /** Whether a browser may show it in place: nothing in it can run. */
  isHarmless: boolean
}

const TEXT = 'text/plain; charset=utf-8'

const shown = (type: string): ContentType => ({ type, isHarmless: true })
const downloaded = (type: string): ContentType => ({ type, isHarmless: false })

const UNKNOWN = downloaded('application/octet-stream')

const TYPES: Readonly<Record<string, ContentType>> = {
  json: shown('application/json'),
  png: shown('image/png'),
  jpg: shown('image/jpeg'),
  jpeg: shown('image/jpeg'),
  gif: shown('image/gif'),
  webp: shown('image/webp'),
  csv: downloaded('text/csv; charset=utf-8'),
  html: downloaded('text/html; charset=utf-8'),
  htm: downloaded('text/html; charset=utf-8'),
  svg: downloaded('image/svg+xml'),
  xml: downloaded('application/xml'),
  pdf: downloaded('application/pdf'),
  zip: downloaded('application/zip'),
  gz: downloaded('application/gzip'),
  tgz: downloaded('application/gzip'),
  tar: downloaded('application/x-tar'),
  mp4: downloaded('video/mp4'),
  wasm: downloaded('application/wasm'),
}

/** Programs and notes are served as plain text, so that they cannot run. */
const READ_AS_TEXT =
  'txt log md markdown jsonl ndjson dot diff patch js mjs cjs jsx ts mts cts tsx css py rb go rs c h cpp java sh sql yaml yml toml ini'

const texts = new Set(READ_AS_TEXT.split(' '))

export function contentTypeOf(path: string): ContentType {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const at = name.lastIndexOf('.')
  const extension = at <= 0 ? '' : name.slice(at + 1).toLowerCase()
  if (texts.has(extension)) return shown(TEXT)
  return Object.hasOwn(TYPES, extension) ? (TYPES[extension] ?? UNKNOWN) : UNKNOWN
}

/** For a download: the file's name in ASCII, and in full (RFC 6266). */
export function attachment(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const plain = name.replace(/[^\w .,()+@=-]/g, '_')
  const exact = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`
}
