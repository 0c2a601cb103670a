/** Bitbucket Server and Data Center. Pure. */
import { flag, integer, listOf, object, optional, text } from '../schema/schema.ts'
import { call, type Forge, type ForgeRepo, type OpenPull, PAGE_OF_PULLS, withQuery } from './forge.ts'

const HEADS = 'refs/heads/'

const side = object({ id: text(), repository: optional(object({ id: integer() })) })
export const bitbucketServerPull = object({
  id: integer(),
  version: integer(),
  title: text(),
  description: optional(text()),
  draft: optional(flag()),
  fromRef: side,
  toRef: side,
  reviewers: optional(listOf(object({ user: object({ name: text() }) }))),
  links: object({ self: listOf(object({ href: text({ pattern: '^https?://' }) })) }),
})
export const bitbucketServerPulls = object({ values: listOf(bitbucketServerPull), isLastPage: flag() })
const repository = object({ slug: text() })

export const bitbucketServer: Forge = {
  headers: ({ secret }) => ({ authorization: `Bearer ${secret}`, accept: 'application/json' }),
  // There is no call for it; each answer names the account in a header.
  whoAmI: (repo) => call('GET', repositoryOf(repo), repository, (_, headers) => String(headers['x-ausername'] ?? '')),
  find(repo, head, target, page) {
    const query = {
      direction: 'OUTGOING',
      at: `${HEADS}${head}`,
      state: 'OPEN',
      limit: PAGE_OF_PULLS,
      start: (page - 1) * PAGE_OF_PULLS,
    }
    return call('GET', withQuery(pullsOf(repo), query), bitbucketServerPulls, ({ values, isLastPage }) => ({
      pull: values
        .filter(({ fromRef, toRef }) => fromRef.id === `${HEADS}${head}` && toRef.id === `${HEADS}${target}`)
        .filter(({ fromRef, toRef }) => fromRef.repository?.id === toRef.repository?.id)
        .map((one) => toPull(repo, one))[0],
      more: !isLastPage,
    }))
  },
  create(repo, { head, target, title, body, isDraft }) {
    const request = {
      title,
      description: body,
      fromRef: { id: `${HEADS}${head}` },
      toRef: { id: `${HEADS}${target}` },
      ...(isDraft ? { draft: true } : {}),
    }
    return call('POST', pullsOf(repo), bitbucketServerPull, (one) => toPull(repo, one), request)
  },
  update(repo, { number, kept }, { title, body }) {
    // The server refuses an older version with 409, and takes missing reviewers for removed ones.
    const request = { title, description: body, version: kept?.version ?? 0, reviewers: kept?.reviewers ?? [] }
    return call('PUT', `${pullsOf(repo)}/${number}`, bitbucketServerPull, (one) => toPull(repo, one), request)
  },
  refusal(status, words) {
    if (status !== 409) return undefined
    if (/only one pull request may be open/i.test(words)) return 'exists'
    return /already up-to-date|no changes|is up to date/i.test(words) ? 'no_commits' : undefined
  },
}

function repositoryOf({ api, owner, name }: ForgeRepo): string {
  return `${api}/projects/${encodeURIComponent(owner)}/repos/${encodeURIComponent(name)}`
}

function pullsOf(repo: ForgeRepo): string {
  return `${repositoryOf(repo)}/pull-requests`
}

interface Raw {
  id: number
  version: number
  title: string
  description?: string
  draft?: boolean
  reviewers?: { user: { name: string } }[]
  links: { self: { href: string }[] }
}

function toPull({ web }: ForgeRepo, { id, version, title, description, draft, reviewers, links }: Raw): OpenPull {
  return {
    number: id,
    url: links.self[0]?.href ?? `${web}/pull-requests/${id}`,
    title,
    body: description ?? '',
    isDraft: draft === true,
    kept: { version, reviewers: (reviewers ?? []).map(({ user }) => ({ user: { name: user.name } })) },
  }
}
