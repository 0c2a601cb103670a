/** Decides from its name how a data file is previewed, and which icon it has. Files that a browser could run are only downloaded (threats UI-1). Pure. */

export type PreviewKind = 'text' | 'json' | 'markdown' | 'table' | 'diff' | 'image' | 'none'

const IMAGES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
}

const KINDS: Readonly<Record<string, PreviewKind>> = {
  json: 'json',
  md: 'markdown',
  markdown: 'markdown',
  csv: 'table',
  tsv: 'table',
  diff: 'diff',
  patch: 'diff',
}

const PLAIN = new Set('txt log out err jsonl ndjson'.split(' '))
const CODE = new Set(
  'dot gv js mjs cjs jsx ts mts cts tsx css py rb go rs c h cpp java kt sh sql yaml yml toml ini cfg env'.split(' '),
)
const ARCHIVES = new Set('gz tgz tar zip xz bz2 zst 7z'.split(' '))

export function previewKind(path: string): PreviewKind {
  const extension = extensionOf(path)
  if (Object.hasOwn(IMAGES, extension)) return 'image'
  if (Object.hasOwn(KINDS, extension)) return KINDS[extension] ?? 'none'
  return extension === '' || PLAIN.has(extension) || CODE.has(extension) ? 'text' : 'none'
}

export type FileIcon = 'image' | 'table' | 'diff' | 'braces' | 'code' | 'words' | 'box' | 'file'

export function iconOf(path: string): FileIcon {
  const extension = extensionOf(path)
  const kind = previewKind(path)
  if (kind === 'image' || kind === 'table' || kind === 'diff') return kind
  if (kind === 'json' || extension === 'jsonl' || extension === 'ndjson') return 'braces'
  if (CODE.has(extension)) return 'code'
  if (kind === 'markdown' || kind === 'text') return 'words'
  return ARCHIVES.has(extension) ? 'box' : 'file'
}

/** The media type for an image; the type that the server sends is not used. */
export function imageType(path: string): string {
  return IMAGES[extensionOf(path)] ?? 'application/octet-stream'
}

function extensionOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const at = name.lastIndexOf('.')
  return at <= 0 ? '' : name.slice(at + 1).toLowerCase()
}
