/** Gitea and Forgejo; the git server of an instance speaks the same. Pure. */
import type { CreatePullRequestOption, EditPullRequestOption } from 'gitea-js'
import { flag, integer, listOf, nullable, object, optional, text } from '../schema/schema.ts'
import { call, type Forge, type ForgeRepo, type OpenPull, PAGE_OF_PULLS, withQuery } from './forge.ts'

const branch = object({ ref: text(), repo_id: integer() })
export const giteaPull = object({
  number: integer(),
  html_url: text({ pattern: '^https?://' }),
  title: text(),
  body: optional(nullable(text())),
  draft: optional(flag()),
  head: branch,
  base: branch,
})
export const giteaUser = object({ login: text() })

const DRAFT = /^\s*(?:wip:|\[wip\])\s*/i

export const gitea: Forge = {
  headers: ({ secret }) => ({ authorization: `token ${secret}`, accept: 'application/json' }),
  whoAmI: ({ api }) => call('GET', `${api}/user`, giteaUser, ({ login }) => login),
  find(repo, head, target, page) {
    // The oldest versions in use have no filter for the head.
    const query = { state: 'open', limit: PAGE_OF_PULLS, page }
    return call('GET', withQuery(pullsOf(repo), query), listOf(giteaPull), (pulls, { link }) => ({
      pull: pulls
        .filter((one) => one.head.ref === head && one.base.ref === target && one.head.repo_id === one.base.repo_id)
        .map(toPull)[0],
      // A server may allow fewer on a page than were asked for, so their number does not tell.
      more: /rel="?next/.test(String(link ?? '')),
    }))
  },
  create(repo, { head, target, title, body, isDraft }) {
    const request = {
      title: isDraft ? `WIP: ${title}` : title,
      body,
      head,
      base: target,
    } satisfies CreatePullRequestOption
    return call('POST', pullsOf(repo), giteaPull, toPull, request)
  },
  update(repo, { number, isDraft }, { title, body }) {
    const request = { title: isDraft ? `WIP: ${title}` : title, body } satisfies EditPullRequestOption
    return call('PATCH', `${pullsOf(repo)}/${number}`, giteaPull, toPull, request)
  },
  refusal(status, words) {
    if (status === 409) return 'exists'
    return status === 422 && /no commits|nothing to (?:merge|compare)|no changes/i.test(words)
      ? 'no_commits'
      : undefined
  },
}

function pullsOf({ api, owner, name }: ForgeRepo): string {
  return `${api}/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/pulls`
}

interface Raw {
  number: number
  html_url: string
  title: string
  body?: string | null
  draft?: boolean
}

function toPull({ number, html_url, title, body, draft }: Raw): OpenPull {
  const isDraft = draft ?? DRAFT.test(title)
  return { number, url: html_url, title: isDraft ? title.replace(DRAFT, '') : title, body: body ?? '', isDraft }
}
