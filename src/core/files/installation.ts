/** Finds files of the installed platform from wherever this module was bundled into, or from source. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The path of a built file, named as below `dist/`; undefined where nothing is built. */
export function installedFile(name: string): string | undefined {
  for (let at = dirname(fileURLToPath(import.meta.url)); ; at = dirname(at)) {
    for (const candidate of [join(at, name), join(at, 'dist', name)]) {
      if (existsSync(candidate)) return candidate
    }
    if (dirname(at) === at) return undefined
  }
}
