/** Data files that consumers can fetch, in `.resolve/data/` (spec, Events; R19). */
import { constants } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fail, systemCode } from '../../core/errors.ts'
import { replaceFile } from './replace-file.ts'
import type { RetryingDisk } from './retry-while-disk-full.ts'
import { regularAt } from './state-file.ts'

export interface DataFiles {
  /** Replaces the file as a whole and emits `<name>.data_changed {paths}`. Throws `path_refused`. */
  write(path: string, content: string | Uint8Array): Promise<void>
  /** The file's text; undefined where there is no file. Throws `path_refused`. */
  read(path: string): Promise<string | undefined>
}

export function dataFiles(root: string, disk: RetryingDisk, changed: (paths: string[]) => void): DataFiles {
  return {
    async write(path, content) {
      const target = inside(root, path)
      await mkdir(dirname(target), { recursive: true })
      disk.do(() => replaceFile(target, content))
      disk.do(() => changed([path]))
    },
    async read(path) {
      try {
        await using file = await open(inside(root, path), constants.O_RDONLY | constants.O_NONBLOCK)
        regularAt(path)(await file.stat())
        return await file.readFile('utf8')
      } catch (error) {
        if (systemCode(error) === 'ENOENT') return undefined
        throw error
      }
    },
  }
}

function inside(root: string, path: string): string {
  const parts = path.split('/')
  const isPlain = parts.every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'))
  if (!isPlain) throw fail('path_refused', { path })
  return join(root, ...parts)
}
