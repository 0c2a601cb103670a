/** What promotion needs of a forge: where a repository is, and four calls. Each forge of {@link file://./forges.ts} implements it. Pure. */
import type { Credential, ForgeName } from '../git/git-providers.ts'
import { misfit } from '../schema/fits.ts'
import type { Schema } from '../schema/schema.ts'

/** A repository of a forge. */
export interface ForgeRepo {
  forge: ForgeName
  /** `github.com/owner/name`, for messages. */
  shown: string
  /** `host` or `host:port`: the only host that gets the token. */
  host: string
  /** The address of the API, without a slash at its end. */
  api: string
  /** The address of the pages of this repository, without a slash at its end. */
  web: string
  /** Where git pushes to: without a user, a query or a password. */
  git: string
  /** Owner, workspace or project; with slashes for groups of GitLab. */
  owner: string
  name: string
}

export interface OpenPull {
  number: number
  url: string
  /** Without the mark of a draft. */
  title: string
  body: string
  isDraft: boolean
  /** What an update must send back: Bitbucket's version and reviewers. */
  kept?: { version?: number; reviewers?: unknown[] }
}

export interface PullText {
  title: string
  body: string
}

export interface NewPull extends PullText {
  /** Names of branches. */
  head: string
  target: string
  isDraft: boolean
}

/** Why a forge does not create a pull request, where this is expected. `not_yet`: it has not seen the branch that was just pushed. */
export type Refusal = 'exists' | 'no_drafts' | 'no_commits' | 'not_yet'

export interface Forge {
  headers(credential: Credential): Record<string, string>
  /** The name of the account of a token. */
  whoAmI(repo: ForgeRepo): Call<string>
  /** A page of the open pull requests of this head; `pull` is the one from this repository into this target. Pages begin with 1. */
  find(repo: ForgeRepo, head: string, target: string, page: number): Call<Found>
  create(repo: ForgeRepo, pull: NewPull): Call<OpenPull>
  update(repo: ForgeRepo, open: OpenPull, text: PullText): Call<OpenPull>
  /** What a 4xx to `create` means. */
  refusal(status: number, words: string): Refusal | undefined
}

export interface Found {
  pull?: OpenPull | undefined
  /** Whether there may be another page. */
  more: boolean
}

export type Headers = Readonly<Record<string, string | string[] | undefined>>

export interface Call<T> {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT'
  /** The whole address. */
  url: string
  body?: unknown
  /** The value of an answer with 2xx, or where it does not have the documented form. */
  parse(answer: unknown, headers: Headers): { value: T } | { misfit: string }
}

export function call<R, T>(
  method: Call<T>['method'],
  url: string,
  shape: Schema<R>,
  read: (answer: R, headers: Headers) => T,
  body?: unknown,
): Call<T> {
  return {
    method,
    url,
    body,
    parse(answer, headers) {
      const at = misfit(shape, answer)
      return at === undefined ? { value: read(answer as R, headers) } : { misfit: at }
    },
  }
}

/** An address with a query. */
export function withQuery(url: string, query: Readonly<Record<string, string | number>>): string {
  const pairs = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
  return `${url}?${pairs.join('&')}`
}

/** Base64 of `user:secret`. */
export function basic(user: string, secret: string): string {
  return `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`
}

export const PAGE_OF_PULLS = 50
