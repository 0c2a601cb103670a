/** GitHub and GitHub Enterprise. Pure. */
import type { operations } from '@octokit/openapi-types'
import { flag, integer, listOf, nullable, object, optional, text } from '../schema/schema.ts'
import { call, type Forge, type ForgeRepo, type OpenPull, PAGE_OF_PULLS, withQuery } from './forge.ts'

const branch = object({ ref: text(), repo: nullable(object({ full_name: text() })) })
export const githubPull = object({
  number: integer(),
  html_url: text({ pattern: '^https?://' }),
  title: text(),
  body: nullable(text()),
  draft: optional(flag()),
  head: branch,
  base: branch,
})
export const githubUser = object({ login: text() })

type Body<N extends keyof operations> = operations[N] extends {
  requestBody?: { content: { 'application/json': infer B } }
}
  ? B
  : never

export const github: Forge = {
  headers: ({ secret }) => ({
    authorization: `Bearer ${secret}`,
    accept: 'application/vnd.github+json',
    'x-github-api-version': '2022-11-28',
  }),
  whoAmI: ({ api }) => call('GET', `${api}/user`, githubUser, ({ login }) => login),
  find(repo, head, target, page) {
    const query = { state: 'open', head: `${repo.owner}:${head}`, base: target, per_page: PAGE_OF_PULLS, page }
    return call('GET', withQuery(pullsOf(repo), query), listOf(githubPull), (pulls) => ({
      // GitHub ignores a filter that it does not understand, so the answer is filtered here too.
      pull: pulls
        .filter(({ head: from, base }) => from.ref === head && base.ref === target && isOwn(from, base))
        .map(toPull)[0],
      more: pulls.length === PAGE_OF_PULLS,
    }))
  },
  create(repo, { head, target, title, body, isDraft }) {
    const request = {
      title,
      body,
      head,
      base: target,
      ...(isDraft ? { draft: true } : {}),
    } satisfies Body<'pulls/create'>
    return call('POST', pullsOf(repo), githubPull, toPull, request)
  },
  update(repo, { number }, { title, body }) {
    const request = { title, body } satisfies Body<'pulls/update'>
    return call('PATCH', `${pullsOf(repo)}/${number}`, githubPull, toPull, request)
  },
  refusal(status, words) {
    if (status !== 422) return undefined
    if (/pull request already exists/i.test(words)) return 'exists'
    if (/draft pull requests are not supported/i.test(words)) return 'no_drafts'
    if (/field head code invalid/.test(words)) return 'not_yet'
    return /no commits between/i.test(words) ? 'no_commits' : undefined
  },
}

interface Side {
  ref: string
  repo: { full_name: string } | null
}

/** A fork may have a branch of the same name; its repository is null when it was deleted. */
function isOwn(from: Side, base: Side): boolean {
  return from.repo !== null && from.repo.full_name === base.repo?.full_name
}

function pullsOf({ api, owner, name }: ForgeRepo): string {
  return `${api}/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/pulls`
}

interface Raw {
  number: number
  html_url: string
  title: string
  body: string | null
  draft?: boolean
}

function toPull({ number, html_url, title, body, draft }: Raw): OpenPull {
  return { number, url: html_url, title, body: body ?? '', isDraft: draft === true }
}
