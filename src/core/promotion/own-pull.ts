/**
 * Title and text of the pull request that a resolver opened at the git server of its instance: what a promotion proposes upstream. They are in
 * `pulls.jsonl` of the server, which is untrusted.
 */
import { fail } from '../errors.ts'
import { readRegularFile } from '../files/read-regular-file.ts'
import { GIT_SERVER_LOG_MAX_BYTES, PROMOTION_BODY_MAX_BYTES, PROMOTION_TITLE_MAX_CHARS } from '../limits.ts'
import { beginningOf } from '../primitives/beginning-of.ts'
import { jsonObjectIn } from '../primitives/json-object.ts'
import { cleanLine, cleanText } from '../view/clean.ts'

export interface PullWords {
  title: string
  body: string
}

interface OwnPull extends PullWords {
  head: string
  base: string
  isClosed: boolean
}

/**
 * Of the latest one with this branch that was not closed; one into `target` comes first. Undefined where there is none, or where the file cannot
 * be read. `path`: `pulls.jsonl`.
 */
export function ownPullWords(
  path: string,
  { repo, branch, target }: { repo: string; branch: string; target: string | null },
): PullWords | undefined {
  const pulls = [...pullsOf(path, repo).values()].filter(({ head, isClosed }) => head === branch && !isClosed)
  const pull = pulls.findLast(({ base }) => base === target) ?? pulls.at(-1)
  if (pull === undefined) return undefined
  const title = cleanLine(pull.title).slice(0, PROMOTION_TITLE_MAX_CHARS)
  return { title, body: beginningOf(cleanText(pull.body), PROMOTION_BODY_MAX_BYTES) }
}

function pullsOf(path: string, repo: string): Map<number, OwnPull> {
  const pulls = new Map<number, OwnPull>()
  for (const line of linesOf(path)) {
    // Comments and statuses are most of the file.
    if (!line.includes('"kind":"opened"') && !line.includes('"kind":"updated"')) continue
    const told = jsonObjectIn(line)
    const number = told['number']
    if (told['repo'] !== repo || typeof number !== 'number') continue
    const before = pulls.get(number) ?? { title: '', body: '', head: '', base: '', isClosed: false }
    const text = (name: 'title' | 'body' | 'head' | 'base') => {
      const value = told[name]
      return typeof value === 'string' ? value : before[name]
    }
    const state = told['state']
    const isClosed = state === 'closed' || (before.isClosed && state !== 'open')
    pulls.set(number, { title: text('title'), body: text('body'), head: text('head'), base: text('base'), isClosed })
  }
  return pulls
}

function linesOf(path: string): string[] {
  try {
    const text = readRegularFile(path, (stat) => {
      if (!stat.isFile() || stat.size > GIT_SERVER_LOG_MAX_BYTES) {
        throw fail('git_server_failed', { reason: 'its pull requests cannot be read' })
      }
    })
    return text.split('\n')
  } catch {
    return []
  }
}
