/**
 * The lines of `pulls.jsonl`: everything that only the git server knows. Each line is on the disk before its request is answered; the
 * host follows the file and treats it as untrusted.
 */

interface LineHead {
  at: string
  repo: string
}

export interface OpenedLine extends LineHead {
  kind: 'opened'
  number: number
  title: string
  body: string
  head: string
  base: string
  head_commit: string
  base_commit: string
  labels: number[]
}

export interface UpdatedLine extends LineHead {
  kind: 'updated'
  number: number
  title?: string
  body?: string
  base?: string
  state?: 'open' | 'closed'
  labels?: number[]
}

/** Written before the base moves, so that a server killed in between knows at its next start whether it moved. */
export interface MergingLine extends LineHead {
  kind: 'merging'
  number: number
  style: string
  commit: string
  head_commit: string
  base_commit: string
}

export interface MergedLine extends LineHead {
  kind: 'merged'
  number: number
  style: string
  commit: string
  head_commit: string
  base_commit: string
}

export interface CommentLine extends LineHead {
  kind: 'comment'
  id: number
  number: number
  /** null removes the comment. */
  body: string | null
}

export interface LabelLine extends LineHead {
  kind: 'label'
  id: number
  name: string
  color: string
  description: string
}

export interface StatusLine extends LineHead {
  kind: 'status'
  id: number
  sha: string
  state: string
  context: string
  description: string
  target_url: string
}

export type PullLine = OpenedLine | UpdatedLine | MergingLine | MergedLine | CommentLine | LabelLine | StatusLine

export interface Pull {
  repo: string
  number: number
  title: string
  body: string
  head: string
  base: string
  state: 'open' | 'closed'
  labels: number[]
  /** The head and the base when it was opened. */
  headCommit: string
  baseCommit: string
  createdAt: string
  updatedAt: string
  closedAt: string | null
  merging: MergingLine | undefined
  merged: MergedLine | undefined
}

export interface Comment {
  repo: string
  number: number
  id: number
  body: string
  createdAt: string
  updatedAt: string
}

/** The state that follows from the lines. */
export class PullBook {
  readonly pulls: Pull[] = []
  readonly comments = new Map<number, Comment>()
  readonly labels = new Map<number, LabelLine>()
  readonly statuses: StatusLine[] = []
  lastId = 0

  of(repo: string): Pull[] {
    return this.pulls.filter((pull) => pull.repo === repo)
  }

  find(repo: string, number: number): Pull | undefined {
    return this.pulls.find((pull) => pull.repo === repo && pull.number === number)
  }

  findOpen(repo: string, head: string, base: string): Pull | undefined {
    return this.pulls.find(
      (pull) => pull.repo === repo && pull.state === 'open' && pull.head === head && pull.base === base,
    )
  }

  nextNumber(repo: string): number {
    return this.of(repo).reduce((highest, { number }) => Math.max(highest, number), 0) + 1
  }

  apply(line: PullLine): void {
    switch (line.kind) {
      case 'opened':
        this.pulls.push({
          repo: line.repo,
          number: line.number,
          title: line.title,
          body: line.body,
          head: line.head,
          base: line.base,
          state: 'open',
          labels: line.labels,
          headCommit: line.head_commit,
          baseCommit: line.base_commit,
          createdAt: line.at,
          updatedAt: line.at,
          closedAt: null,
          merging: undefined,
          merged: undefined,
        })
        return
      case 'updated':
      case 'merging':
      case 'merged':
        this.#change(line)
        return
      case 'comment':
        this.#comment(line)
        return
      case 'label':
        this.labels.set(line.id, line)
        break
      case 'status':
        this.statuses.push(line)
        break
    }
    this.lastId = Math.max(this.lastId, line.id)
  }

  #change(line: UpdatedLine | MergingLine | MergedLine): void {
    const pull = this.find(line.repo, line.number)
    if (pull === undefined) return
    if (line.kind === 'merging') {
      pull.merging = line
      return
    }
    pull.updatedAt = line.at
    if (line.kind === 'merged') {
      Object.assign(pull, { merged: line, merging: undefined, state: 'closed', closedAt: line.at })
      return
    }
    const { title = pull.title, body = pull.body, base = pull.base, state = pull.state, labels = pull.labels } = line
    Object.assign(pull, { title, body, base, state, labels })
    pull.closedAt = state === 'open' ? null : (pull.closedAt ?? line.at)
  }

  #comment(line: CommentLine): void {
    this.lastId = Math.max(this.lastId, line.id)
    const known = this.comments.get(line.id)
    if (line.body === null) {
      this.comments.delete(line.id)
      return
    }
    this.comments.set(line.id, {
      repo: line.repo,
      number: line.number,
      id: line.id,
      body: line.body,
      createdAt: known?.createdAt ?? line.at,
      updatedAt: line.at,
    })
    const pull = this.find(line.repo, line.number)
    if (pull !== undefined) pull.updatedAt = line.at
  }
}
