/** The module a resolver brings to show its instances with: `viewport_path` of its manifest (spec, Resolver manifest; R9). */
import { realpathSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { fail } from '../errors.ts'
import { VIEWPORT_MAX_BYTES } from '../limits.ts'
import type { CatalogEntry } from '../protocol/catalog.ts'

/** Throws `file_unknown` where the resolver brings none, or none that lies in its own folder. */
export async function readViewport({ name, dir, manifest }: CatalogEntry): Promise<Buffer> {
  const missing = (cause?: unknown) => fail('file_unknown', { path: `viewport.js of ${name}` }, { cause })
  if (manifest.viewport_path === undefined) throw missing()
  try {
    const path = realpathSync(join(dir, manifest.viewport_path))
    const { size } = await stat(path)
    if (!path.startsWith(realpathSync(dir) + sep) || size > VIEWPORT_MAX_BYTES) throw missing()
    return await readFile(path)
  } catch (error) {
    throw missing(error)
  }
}
