/** Saves data files of a resolver on this machine: a complete file or none, and never outside the given directory. */
import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { lstat, mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { diskFull, fail, systemCode } from '../../core/errors.ts'
import { usage } from '../output/command-error.ts'

/** `mode` is the mode of a new file before the umask applies. */
export async function saveTo(path: string, stream: AsyncIterable<Uint8Array>, mode = 0o666): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.part`
  try {
    await pipeline(stream, createWriteStream(temporary, { flags: 'wx', mode }))
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    const code = systemCode(error)
    if (code === undefined) throw error
    throw diskFull(error, path) ?? usage(`Can't write ${path}: ${code}.`)
  }
}

/** Saves below `directory` under the file's own path. Refuses paths and symbolic links that lead outside. Returns the target path. */
export async function saveInside(directory: string, path: string, stream: AsyncIterable<Uint8Array>): Promise<string> {
  const root = resolve(directory)
  const target = resolve(root, path)
  if (!target.startsWith(root + sep)) throw fail('path_refused', { path })
  await mkdir(root, { recursive: true })
  await makeFolders(root, dirname(target))
  await saveTo(target, stream)
  return join(directory, path)
}

async function makeFolders(root: string, folder: string): Promise<void> {
  let here = root
  for (const part of folder
    .slice(root.length)
    .split(sep)
    .filter((one) => one !== '')) {
    here = join(here, part)
    try {
      await mkdir(here)
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error
      if (!(await lstat(here)).isDirectory()) throw usage(`Can't write below ${here}: it is not a directory.`)
    }
  }
}
