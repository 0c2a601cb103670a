/** The sources of checked software as a tar archive: regular files alone. The build reads it from its stdin. */
import { createReadStream } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { Readable } from 'node:stream'
import { type TarEntry, tar } from '../../files/tar.ts'

const EXECUTABLE = 0o100

export function sourceArchive(root: string): Readable {
  return Readable.from(tar(entries(root, root)), { objectMode: false })
}

async function* entries(root: string, directory: string): AsyncGenerator<TarEntry> {
  const found = await readdir(directory, { withFileTypes: true })
  for (const entry of found.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) yield* entries(root, path)
    else if (entry.isFile()) yield await fileEntry(root, path)
  }
}

async function fileEntry(root: string, path: string): Promise<TarEntry> {
  const { size, mtimeMs, mode } = await lstat(path)
  return {
    path: relative(root, path).split(sep).join('/'),
    bytes: size,
    modifiedMs: mtimeMs,
    mode: (mode & EXECUTABLE) === 0 ? 0o644 : 0o755,
    content: createReadStream(path),
  }
}
