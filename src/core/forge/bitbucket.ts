/** Bitbucket Cloud. Pure. */
import { anything, flag, integer, listOf, nullable, object, optional, text } from '../schema/schema.ts'
import { basic, call, type Forge, type ForgeRepo, type OpenPull, PAGE_OF_PULLS, withQuery } from './forge.ts'

const side = object({
  branch: object({ name: text() }),
  /** Null where a fork was deleted. */
  repository: optional(nullable(object({ full_name: text() }))),
})
export const bitbucketPull = object({
  id: integer(),
  title: text(),
  description: optional(nullable(text())),
  draft: optional(flag()),
  source: side,
  destination: side,
  reviewers: optional(listOf(object({ uuid: optional(text()) }))),
  links: object({ html: object({ href: text({ pattern: '^https?://' }) }) }),
})
export const bitbucketPulls = object({ values: listOf(bitbucketPull), next: optional(anything()) })
export const bitbucketUser = object({ nickname: optional(text()), display_name: optional(text()) })

export const bitbucket: Forge = {
  headers: ({ user, secret }) => ({
    authorization: user === undefined ? `Bearer ${secret}` : basic(user, secret),
    accept: 'application/json',
  }),
  whoAmI: ({ api }) =>
    call('GET', `${api}/user`, bitbucketUser, ({ nickname, display_name }) => nickname ?? display_name ?? ''),
  find(repo, head, target, page) {
    const query = {
      q: `source.branch.name = ${quoted(head)} AND destination.branch.name = ${quoted(target)}`,
      state: 'OPEN',
      fields: '+values.reviewers',
      pagelen: PAGE_OF_PULLS,
      page,
    }
    return call('GET', withQuery(pullsOf(repo), query), bitbucketPulls, ({ values, next }) => ({
      pull: values
        .filter(({ source, destination }) => source.branch.name === head && destination.branch.name === target)
        .filter(({ source, destination }) => source.repository?.full_name === destination.repository?.full_name)
        .map(toPull)[0],
      more: next !== undefined,
    }))
  },
  create(repo, { head, target, title, body, isDraft }) {
    const request = {
      title,
      description: body,
      source: { branch: { name: head } },
      destination: { branch: { name: target } },
      ...(isDraft ? { draft: true } : {}),
    }
    return call('POST', pullsOf(repo), bitbucketPull, toPull, request)
  },
  update(repo, { number, kept }, { title, body }) {
    const request = {
      title,
      description: body,
      ...(kept?.reviewers === undefined ? {} : { reviewers: kept.reviewers }),
    }
    return call('PUT', `${pullsOf(repo)}/${number}`, bitbucketPull, toPull, request)
  },
  refusal(status, words) {
    if (status !== 400 && status !== 409) return undefined
    if (/already (?:exists|an? open pull request)/i.test(words)) return 'exists'
    return /no changes to be pulled|nothing to merge/i.test(words) ? 'no_commits' : undefined
  },
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function pullsOf({ api, owner, name }: ForgeRepo): string {
  return `${api}/repositories/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/pullrequests`
}

interface Raw {
  id: number
  title: string
  description?: string | null
  draft?: boolean
  reviewers?: { uuid?: string }[]
  links: { html: { href: string } }
}

function toPull({ id, title, description, draft, reviewers, links }: Raw): OpenPull {
  // Without them an update could remove the reviewers that people chose.
  const kept = reviewers === undefined ? {} : { kept: { reviewers: reviewers.map(({ uuid }) => ({ uuid })) } }
  return { number: id, url: links.html.href, title, body: description ?? '', isDraft: draft === true, ...kept }
}
