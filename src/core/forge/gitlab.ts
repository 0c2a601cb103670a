/** GitLab, of gitlab.com or one's own. Pure. */
import type { CreateMergeRequestOptions, EditMergeRequestOptions } from '@gitbeaker/core'
import { flag, integer, listOf, nullable, object, optional, text } from '../schema/schema.ts'
import { call, type Forge, type ForgeRepo, type OpenPull, PAGE_OF_PULLS, withQuery } from './forge.ts'

export const gitlabMerge = object({
  iid: integer(),
  web_url: text({ pattern: '^https?://' }),
  title: text(),
  description: nullable(text()),
  draft: optional(flag()),
  source_branch: text(),
  target_branch: text(),
  source_project_id: nullable(integer()),
  target_project_id: integer(),
})
export const gitlabUser = object({ username: text() })

/** As they are sent, in snake case. */
interface Create extends Record<string, unknown> {
  source_branch: string
  target_branch: string
  title: string
  description: NonNullable<CreateMergeRequestOptions['description']>
}
interface Edit extends Record<string, unknown> {
  title: NonNullable<EditMergeRequestOptions['title']>
  description: NonNullable<EditMergeRequestOptions['description']>
}

const DRAFT = /^\s*(?:(?:draft|wip):|\[(?:draft|wip)\]|\(draft\))\s*/i

export const gitlab: Forge = {
  // Personal, project and group access tokens and OAuth tokens are all taken as a bearer.
  headers: ({ secret }) => ({ authorization: `Bearer ${secret}`, accept: 'application/json' }),
  whoAmI: ({ api }) => call('GET', `${api}/user`, gitlabUser, ({ username }) => username),
  find(repo, head, target, page) {
    const query = { state: 'opened', source_branch: head, target_branch: target, per_page: PAGE_OF_PULLS, page }
    return call('GET', withQuery(mergesOf(repo), query), listOf(gitlabMerge), (merges) => ({
      pull: merges
        .filter((one) => one.source_branch === head && one.target_branch === target)
        .filter((one) => one.source_project_id === one.target_project_id)
        .map(toPull)[0],
      more: merges.length === PAGE_OF_PULLS,
    }))
  },
  create(repo, { head, target, title, body, isDraft }) {
    const request = {
      source_branch: head,
      target_branch: target,
      title: isDraft ? `Draft: ${title}` : title,
      description: body,
    } satisfies Create
    return call('POST', mergesOf(repo), gitlabMerge, toPull, request)
  },
  update(repo, { number, isDraft }, { title, body }) {
    const request = { title: isDraft ? `Draft: ${title}` : title, description: body } satisfies Edit
    return call('PUT', `${mergesOf(repo)}/${number}`, gitlabMerge, toPull, request)
  },
  refusal(status, words) {
    if (status === 409 && /another open merge request already exists/i.test(words)) return 'exists'
    return /source branch "?.*"? does not exist/i.test(words) ? 'not_yet' : undefined
  },
}

function mergesOf({ api, owner, name }: ForgeRepo): string {
  return `${api}/projects/${encodeURIComponent(`${owner}/${name}`)}/merge_requests`
}

interface Raw {
  iid: number
  web_url: string
  title: string
  description: string | null
  draft?: boolean
}

function toPull({ iid, web_url, title, description, draft }: Raw): OpenPull {
  const isDraft = draft ?? DRAFT.test(title)
  return {
    number: iid,
    url: web_url,
    title: isDraft ? title.replace(DRAFT, '') : title,
    body: description ?? '',
    isDraft,
  }
}
