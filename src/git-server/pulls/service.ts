/** What every answer of the server is made from: its repositories, its pull requests, and those who follow them. */
import type { Repositories } from '../repository/repositories.ts'
import type { Feed } from './feed.ts'
import type { Promotions } from './promotions.ts'
import type { PullStore } from './pull-store.ts'

export interface GitService {
  repositories: Repositories
  store: PullStore
  feed: Feed
  promotions: Promotions
  /** How clients reach the server, without a slash at its end. */
  baseUrl: string
}

/** The owner of every repository, which resolvers for upstream's own git server use. */
export const OWNER = 'admin'

export function pullUrl(service: GitService, repo: string, number: number): string {
  return `${service.baseUrl}/${OWNER}/${repo}/pulls/${number}`
}
