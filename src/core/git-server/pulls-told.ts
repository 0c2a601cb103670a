/** What the lines of the git server's `pulls.jsonl` mean for the journal of an instance. The server is not trusted. Pure. */
import { GIT_REF_NAME_MAX_CHARS, PULL_TITLE_MAX_CHARS } from '../limits.ts'

export interface ToldPull {
  repo: string
  number: number
  action: 'opened' | 'updated' | 'closed' | 'merged'
  title: string
  head: string
  base: string
  commit: string
  url: string
  /** Where `pulls.jsonl` goes on after this line. */
  next: number
}

type Known = Pick<ToldPull, 'title' | 'head' | 'base' | 'commit'>

/** Undefined for a line that tells nothing of a pull request, or that is malformed. `known`: the pull request as it was told before. */
export function pullOfLine(
  line: Readonly<Record<string, unknown>>,
  next: number,
  baseUrl: string,
  known: (repo: string, number: number) => Known | undefined,
): ToldPull | undefined {
  const { kind, repo, number } = line
  if (typeof repo !== 'string' || typeof number !== 'number' || !Number.isSafeInteger(number) || number < 1)
    return undefined
  const before = known(repo, number)
  const head = { repo, number, url: `${baseUrl}/admin/${encodeURIComponent(repo)}/pulls/${number}`, next }
  const title = shortText(line['title'], PULL_TITLE_MAX_CHARS) ?? before?.title
  const from = shortText(line['head'], GIT_REF_NAME_MAX_CHARS) ?? before?.head
  const base = shortText(line['base'], GIT_REF_NAME_MAX_CHARS) ?? before?.base
  if (title === undefined || from === undefined || base === undefined) return undefined
  const texts = { title, head: from, base }
  switch (kind) {
    case 'opened':
      return { ...head, action: 'opened', ...texts, commit: commitIn(line['head_commit']) ?? '' }
    case 'updated': {
      const action = line['state'] === 'closed' ? 'closed' : 'updated'
      return { ...head, action, ...texts, commit: before?.commit ?? '' }
    }
    case 'merged':
      return { ...head, action: 'merged', ...texts, commit: commitIn(line['commit']) ?? '' }
    default:
      return undefined
  }
}

function shortText(value: unknown, max: number): string | undefined {
  return typeof value === 'string' ? value.replace(/\p{C}/gu, ' ').slice(0, max) : undefined
}

function commitIn(value: unknown): string | undefined {
  return typeof value === 'string' && /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(value) ? value : undefined
}

/**
 * `pulls.jsonl` for a server whose directory was lost: as long as the lost file was where the journal stopped, so that both go on from
 * there. Bodies, comments and labels are gone.
 */
export function pullsAgain(pulls: readonly (ToldPull & { at: string })[], bytes: number): string {
  let text = ''
  for (const { repo, number, action, title, head, base, commit, at } of pulls) {
    const opened = {
      kind: 'opened',
      repo,
      number,
      title,
      body: '',
      head,
      base,
      head_commit: commit,
      base_commit: commit,
      labels: [],
      at,
    }
    const end =
      action === 'closed' || action === 'merged' ? [{ kind: 'updated', repo, number, state: 'closed', at }] : []
    const lines = [opened, ...end].map((line) => `${JSON.stringify(line)}\n`).join('')
    if (Buffer.byteLength(text) + Buffer.byteLength(lines) <= bytes) text += lines
  }
  const left = bytes - Buffer.byteLength(text)
  return left === 0 ? text : `${text}${' '.repeat(left - 1)}\n`
}
