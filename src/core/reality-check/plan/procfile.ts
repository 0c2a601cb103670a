/** Reads a Procfile: its `web` process is the software, its `release` process runs before it. */
import type { TreeReader } from './tree-reader.ts'

export interface Procfile {
  web: string
  release: string | null
}

/** The processes of the Procfile; undefined where there is none, or where it has no `web` process. */
export async function readProcfile(tree: TreeReader): Promise<Procfile | undefined> {
  const lines = (await tree.text('Procfile')).split(/\r?\n/)
  const processes = new Map(
    lines.flatMap((line) => {
      const [, name, command] = /^\s*([\w-]+)\s*:\s*(\S.*?)\s*$/.exec(line) ?? []
      return name === undefined || command === undefined ? [] : [[name, command] as const]
    }),
  )
  const web = processes.get('web')
  return web === undefined ? undefined : { web, release: processes.get('release') ?? null }
}
