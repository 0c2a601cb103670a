/** Detects pages that need no program: the platform's own server of static files shows them. */
import { quoteWord } from '../../primitives/quote-word.ts'
import { type Found, nothingFound } from './found.ts'
import type { TreeReader } from './tree-reader.ts'

const PLACES = ['', 'public', 'dist', 'build', 'www', 'site', 'static', 'src', 'docs']
const PORT = 8080

/** The command that serves a directory of files; the room has the program at this path. */
export function serveFiles(directory: string): string {
  return `node /var/tmp/room/static-server.mjs ${quoteWord(directory)}`
}

export async function detectStatic(tree: TreeReader): Promise<Found | undefined> {
  for (const place of PLACES) {
    const index = place === '' ? 'index.html' : `${place}/index.html`
    if (await tree.has(index)) return pages(place === '' ? '.' : place, index)
  }
  return undefined
}

function pages(directory: string, because: string): Found {
  return { ...nothingFound('static', [because]), type: 'web_app', start: serveFiles(directory), port: PORT }
}
