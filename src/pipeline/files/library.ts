/** The pipelines that ship with the program, in the folder `library` of the resolver `pipeline`: a graph and its form, found by name. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { nearest } from '../../core/primitives/nearest.ts'

export const LIBRARY_FOLDER = 'library'

const NAME = /^[a-z][a-z0-9-]{0,63}$/

/** The names of the graphs of a folder, sorted; none where there is no folder. */
export async function pipelinesIn(folder: string): Promise<string[]> {
  const files = await readdir(folder).catch(() => [])
  return files
    .flatMap((file) => (file.endsWith('.dot') ? [file.slice(0, -'.dot'.length)] : []))
    .filter((name) => NAME.test(name))
    .toSorted()
}

/** The path of a graph by its name, or the name that was probably meant. */
export async function pipelineNamed(folder: string, name: string): Promise<{ path: string } | { meant?: string }> {
  const names = await pipelinesIn(folder)
  if (names.includes(name)) return { path: join(folder, `${name}.dot`) }
  const meant = nearest(name, names)
  return meant === undefined ? {} : { meant }
}
