/** Finds files of the installed platform, whether this module runs from a bundle or from source. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const found = new Map<string, string>()

/** The path of a built file, given as below `dist/`; undefined where it is not built. */
export function installedFile(name: string): string | undefined {
  const known = found.get(name) ?? search(name)
  if (known !== undefined) found.set(name, known)
  return known
}

function search(name: string): string | undefined {
  for (let at = dirname(fileURLToPath(import.meta.url)); ; at = dirname(at)) {
    for (const candidate of [join(at, name), join(at, 'dist', name)]) {
      if (existsSync(candidate)) return candidate
    }
    if (dirname(at) === at) return undefined
  }
}
