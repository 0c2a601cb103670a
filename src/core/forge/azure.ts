/** Azure DevOps, Services and Server. Pure. */
import { anything, flag, integer, listOf, object, optional, text } from '../schema/schema.ts'
import { basic, call, type Forge, type ForgeRepo, type OpenPull, PAGE_OF_PULLS, withQuery } from './forge.ts'

const HEADS = 'refs/heads/'
const VERSION = 'api-version=7.1'
const BODY_MAX_CHARS = 4_000

export const azurePull = object({
  pullRequestId: integer(),
  title: text(),
  description: optional(text()),
  isDraft: optional(flag()),
  sourceRefName: text(),
  targetRefName: text(),
  /** Only where the head is in a fork. */
  forkSource: optional(anything()),
})
export const azurePulls = object({ value: listOf(azurePull) })
const connection = object({ authenticatedUser: object({ providerDisplayName: text() }) })

export const azure: Forge = {
  headers: ({ secret }) => ({ authorization: basic('', secret), accept: 'application/json' }),
  whoAmI: ({ api }) =>
    call(
      'GET',
      `${organisationOf(api)}/_apis/connectionData`,
      connection,
      (one) => one.authenticatedUser.providerDisplayName,
    ),
  find(repo, head, target, page) {
    const query = {
      'searchCriteria.status': 'active',
      'searchCriteria.sourceRefName': `${HEADS}${head}`,
      'searchCriteria.targetRefName': `${HEADS}${target}`,
      $top: PAGE_OF_PULLS,
      $skip: (page - 1) * PAGE_OF_PULLS,
    }
    return call('GET', `${withQuery(pullsOf(repo), query)}&${VERSION}`, azurePulls, ({ value }) => ({
      pull: value
        .filter((one) => one.sourceRefName === `${HEADS}${head}` && one.targetRefName === `${HEADS}${target}`)
        .filter(({ forkSource }) => forkSource === undefined || forkSource === null)
        .map((one) => toPull(repo, one))[0],
      more: value.length === PAGE_OF_PULLS,
    }))
  },
  create(repo, { head, target, title, body, isDraft }) {
    const request = {
      sourceRefName: `${HEADS}${head}`,
      targetRefName: `${HEADS}${target}`,
      title,
      description: body.slice(0, BODY_MAX_CHARS),
      isDraft,
    }
    return call('POST', `${pullsOf(repo)}?${VERSION}`, azurePull, (one) => toPull(repo, one), request)
  },
  update(repo, { number }, { title, body }) {
    const request = { title, description: body.slice(0, BODY_MAX_CHARS) }
    return call('PATCH', `${pullsOf(repo)}/${number}?${VERSION}`, azurePull, (one) => toPull(repo, one), request)
  },
  refusal: (status, words) => (status === 409 && words.includes('TF401179') ? 'exists' : undefined),
}

/** `api` ends in the project. */
function organisationOf(api: string): string {
  return api.slice(0, api.lastIndexOf('/'))
}

function pullsOf({ api, name }: ForgeRepo): string {
  return `${api}/_apis/git/repositories/${encodeURIComponent(name)}/pullrequests`
}

interface Raw {
  pullRequestId: number
  title: string
  description?: string
  isDraft?: boolean
}

/** The answer has an address of the API alone. */
function toPull({ web }: ForgeRepo, { pullRequestId, title, description, isDraft }: Raw): OpenPull {
  return {
    number: pullRequestId,
    url: `${web}/pullrequest/${pullRequestId}`,
    title,
    body: description ?? '',
    isDraft: isDraft === true,
  }
}
