/** What the events of an instance say about its repositories: when something changed, and which pull requests were opened upstream. */
import { useRef } from 'react'
import { cleanLine } from '../../../../core/view/clean.ts'
import type { LiveInstance } from '../../../live/instance-live.ts'

export interface Promoted {
  repo: string
  branch: string
  target: string
  number: number
  /** As the forge says it. */
  url: string
  at: string
}

export interface RepoNews {
  /** The number of the last event about a repository. */
  seq: number
  promoted: readonly Promoted[]
}

/** Only the platform writes these events. An artifact of the kind `pr` may be a resolver's own. Each event is looked at once. */
export function useRepoNews({ events, count }: LiveInstance): RepoNews {
  const read = useRef({ events, count: 0, news: NONE })
  if (read.current.events !== events) read.current = { events, count: 0, news: NONE }
  const { current } = read
  for (; current.count < count; current.count += 1) {
    const one = events[current.count]
    if (one === undefined || !/^platform\.(?:git|promotion)\./.test(one.event.event_type)) continue
    const { promoted } = current.news
    const isPromoted = one.event.event_type === 'platform.promotion.completed'
    current.news = {
      seq: one.seq,
      promoted: isPromoted ? withPromoted(promoted, one.event.data, one.event.timestamp) : promoted,
    }
  }
  return current.news
}

const NONE: RepoNews = { seq: 0, promoted: [] }

function withPromoted(before: readonly Promoted[], data: Record<string, unknown>, at: string): Promoted[] {
  const text = (name: string) => (typeof data[name] === 'string' ? cleanLine(data[name]) : '')
  const number = typeof data['number'] === 'number' ? data['number'] : 0
  const one = {
    repo: text('repo'),
    branch: text('branch'),
    target: text('target_branch'),
    number,
    url: text('pr_url'),
    at,
  }
  // A repeated promotion updates the same pull request.
  return [...before.filter(({ repo, url }) => repo !== one.repo || url !== one.url), one]
}
