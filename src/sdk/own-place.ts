/** Where in the author's own code an error comes from; the result of a failed run tells it. */
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const FRAME = /^\s*at (?:.*\()?(?:async )?((?:file:\/\/)?\/[^()]+?):(\d+):\d+\)?$/

/** `resolver.ts:12`: the first frame below the folder of the main module; undefined where there is none. */
export function ownPlace(error: Error, main = process.argv[1]): string | undefined {
  if (main === undefined || typeof error.stack !== 'string') return undefined
  const folder = dirname(main)
  for (const line of error.stack.split('\n')) {
    const [, at = '', number] = FRAME.exec(line) ?? []
    const path = toPath(at)
    if (path.startsWith(`${folder}/`) && !path.includes('/node_modules/')) return `${relative(folder, path)}:${number}`
  }
  return undefined
}

function toPath(at: string): string {
  if (!at.startsWith('file://')) return at
  try {
    return fileURLToPath(at)
  } catch {
    return ''
  }
}
