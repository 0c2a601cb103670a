/** Decides from its name how a data file is previewed. Files that a browser could run are only downloaded (threats UI-1). Pure. */

export type PreviewKind = 'text' | 'json' | 'markdown' | 'image' | 'none'

const IMAGES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
}

const TEXTS = new Set(
  'txt log csv tsv jsonl ndjson dot gv diff patch js mjs cjs jsx ts tsx css py rb go rs c h cpp java kt sh sql yaml yml toml ini cfg env'.split(
    ' ',
  ),
)

export function previewKind(path: string): PreviewKind {
  const extension = extensionOf(path)
  if (extension === 'json') return 'json'
  if (extension === 'md' || extension === 'markdown') return 'markdown'
  if (Object.hasOwn(IMAGES, extension)) return 'image'
  return extension === '' || TEXTS.has(extension) ? 'text' : 'none'
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
