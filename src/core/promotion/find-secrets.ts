/**
 * Searches what a promotion would publish for known secrets: the commits as they are kept, names of files, added lines. Each is read by a
 * command of its own, so that no text of a commit or a file can be taken for the structure of another output.
 */
import { fail } from '../errors.ts'
import type { BareGit } from '../git/bare-git.ts'

type Holds = (bytes: Buffer) => boolean

const COMMIT_TEXT = 'commit message'
/** Attributes of the branch cannot change what these show. */
const EXACT = ['--no-renames', '--no-ext-diff', '--no-textconv', '--no-notes', '--no-color', '--root']

/** The places with a secret: paths, and `commit message`. Every commit is searched, because every commit is published, also what a later one removes. */
export async function secretsIn(git: BareGit, range: string, holds: Holds, maxOutputChars: number): Promise<string[]> {
  const read = async (args: readonly string[], input?: string) => {
    const given = input === undefined ? {} : { input: Buffer.from(input) }
    // latin1 keeps each byte.
    const { stdout, isCut } = await git.run(args, { maxOutputChars, encoding: 'latin1', ...given })
    if (isCut) throw fail('promotion_invalid', { problem: 'its changes are too large to be searched for secrets' })
    return stdout
  }
  const batch = (ids: string) => read(['cat-file', '--batch'], ids)
  const isIn = (text: string) => holds(bytesOf(text))
  // As they are pushed, with every header and with what comes after a NUL; and as they are shown, where they name an encoding.
  const commits = await batch(await read(['rev-list', range]))
  const shown = await read(['log', '--no-patch', '--no-color', '--no-notes', '--format=%an%n%ae%n%cn%n%ce%n%B', range])
  const names = await read(['log', '--format=', '-z', '--name-only', '-c', ...EXACT, range])
  const patch = ['--patch', '--text', '--cc', '--unified=0', '--full-index', '--src-prefix=a/', '--dst-prefix=b/']
  const changes = readPatch(await read(['log', '--format=', ...patch, ...EXACT, range]))
  const found = isIn(commits) || isIn(shown) ? [COMMIT_TEXT] : []
  found.push(...names.split('\0').filter(isIn).map(utf8Of))
  for (const [path, lines] of changes.added) if (isIn(lines.join('\n'))) found.push(utf8Of(path))
  for (const [path, ids] of changes.whole) if (isIn(await batch(`${ids.join('\n')}\n`))) found.push(utf8Of(path))
  return [...new Set(found)]
}

export interface PatchRead {
  /** The added lines by path. */
  added: Map<string, string[]>
  /** Files of merges that git shows no lines of, because they are binary: the ids of their contents by path. */
  whole: Map<string, string[]>
}

/** Of the output of `git log --patch --format=`: lines of a file begin with a column for each parent, so no such line is a header. Pure. */
export function readPatch(log: string): PatchRead {
  const read: PatchRead = { added: new Map(), whole: new Map() }
  const add = (to: Map<string, string[]>, value: string) => {
    const values = to.get(path)
    if (values === undefined) to.set(path, [value])
    else values.push(value)
  }
  let path = ''
  let id = ''
  let columns = 0
  for (const line of log.split('\n')) {
    if (line.startsWith('diff --')) {
      path = line.replace(/^diff --(?:git|cc|combined) /, '').replace(/^"?a\/.* "?b\/(.*?)"?$/, '$1')
      columns = 0
    } else if (line.startsWith('@@')) {
      columns = (/^@+/.exec(line)?.[0].length ?? 2) - 1
    } else if (columns > 0) {
      // The sign ends with its columns: a line may begin with more of them.
      if (line.slice(0, columns).includes('+')) add(read.added, line.slice(columns))
    } else if (line.startsWith('index ')) {
      id = /\.\.([0-9a-f]+)/.exec(line)?.[1] ?? ''
    } else if (line.startsWith('Binary files ') && /[1-9a-f]/.test(id)) {
      add(read.whole, id)
    }
  }
  return read
}

const HIDDEN = '[redacted]'

/** A path as it may be told: without a secret that it holds itself. Pure. */
export function withoutSecrets(path: string, holds: Holds): string {
  if (!holds(Buffer.from(path))) return path
  const parts = path.split('/').map((part) => (holds(Buffer.from(part)) ? HIDDEN : part))
  const left = parts.join('/')
  // A secret with a slash goes over more than one part.
  return holds(Buffer.from(left)) ? HIDDEN : left
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

function utf8Of(text: string): string {
  return bytesOf(text).toString('utf8')
}
