/** REST: pull requests. */
import { MERGE_STYLES, type MergeStyle } from '../pulls/merge.ts'
import { mergePull, updatePull } from '../pulls/merge-pull.ts'
import { checkEnds, checkTexts, openPull } from '../pulls/open-pull.ts'
import { pullFacts } from '../pulls/pull-facts.ts'
import type { Pull } from '../pulls/pull-lines.ts'
import { OWNER } from '../pulls/service.ts'
import { readChanges, readCommits } from '../repository/commits.ts'
import { git } from '../repository/git.ts'
import { Refusal } from '../repository/refusal.ts'
import {
  type Answer,
  type Call,
  empty,
  type Handler,
  json,
  listHeaders,
  neededText,
  numberOf,
  pageOf,
  repositoryOf,
  rowsOn,
  text,
  textField,
} from './call.ts'
import { labelIdsOf } from './issue-routes.ts'
import { toChangedFile, toCommit, toPullRequest } from './shapes.ts'

const PULLS = '/repos/:owner/:repo/pulls'

export const pullRoutes: Readonly<Record<string, Handler>> = {
  [`GET ${PULLS}`]: async (call) => {
    const repository = repositoryOf(call)
    const found = listPulls(call, repository.name)
    const rows = rowsOn(pageOf(call), found)
    const list = []
    for (const pull of rows) list.push(await toPullRequest(call.service, repository, pull))
    return json(list, 200, listHeaders(call, found.length))
  },
  [`POST ${PULLS}`]: async (call) => {
    const repository = repositoryOf(call)
    const pull = await openPull(call.service, repository, {
      head: withoutOwner(neededText(call, 'head')),
      base: neededText(call, 'base'),
      title: neededText(call, 'title'),
      body: textField(call, 'body') ?? '',
      labels: labelIdsOf(call, repository.name) ?? [],
    })
    return json(await toPullRequest(call.service, repository, pull), 201)
  },
  [`GET ${PULLS}/:number`]: async (call) => {
    const file = /^(\d+)\.(diff|patch)$/.exec(call.part('number'))
    if (file !== null) return await asText(call, Number(file[1]), file[2] as 'diff' | 'patch')
    return await answerWith(call, pullOf(call))
  },
  [`PATCH ${PULLS}/:number`]: async (call) => await change(call, pullOf(call)),
  [`GET ${PULLS}/:number/files`]: async (call) => {
    const { repository, facts } = await factsOf(call)
    const changes = await readChanges(repository.directory, facts.mergeBase, facts.headCommit)
    const rows = rowsOn(pageOf(call), changes)
    const list = rows.map((one) => toChangedFile(call.service, repository.name, facts.headCommit, one))
    return json(list, 200, listHeaders(call, changes.length))
  },
  [`GET ${PULLS}/:number/commits`]: async (call) => {
    const { repository, facts } = await factsOf(call)
    const { page, limit } = pageOf(call)
    const range = `${facts.mergeBase}..${facts.headCommit}`
    const some = [`--skip=${(page - 1) * limit}`, `--max-count=${limit}`, range]
    const commits = await readCommits(repository.directory, some)
    const list = commits.map((commit) => toCommit(call.service, repository.name, commit))
    return json(list, 200, listHeaders(call, facts.commits))
  },
  [`GET ${PULLS}/:number/merge`]: (call) => {
    if (pullOf(call).merged === undefined) throw new Refusal(404, 'the pull request is not merged')
    return empty(204)
  },
  [`POST ${PULLS}/:number/merge`]: async (call) => {
    const wanted = textField(call, 'Do') ?? textField(call, 'do') ?? ''
    const style = MERGE_STYLES.find((one) => one === wanted) satisfies MergeStyle | undefined
    if (style === undefined) throw new Refusal(405, `Do is one of ${MERGE_STYLES.join(', ')}`)
    const pull = pullOf(call)
    if (pull.merged !== undefined) throw new Refusal(405, 'The PR is already merged')
    await mergePull(call.service, repositoryOf(call), pull, {
      style,
      headCommit: textField(call, 'head_commit_id') || undefined,
      title: textField(call, 'MergeTitleField'),
      message: textField(call, 'MergeMessageField'),
      deletesBranch: call.body['delete_branch_after_merge'] === true,
    })
    return empty(200)
  },
  [`POST ${PULLS}/:number/update`]: async (call) => {
    const style = call.query.get('style') === 'rebase' ? 'rebase' : 'merge'
    await updatePull(call.service, repositoryOf(call), pullOf(call), style)
    return empty(200)
  },
  [`GET ${PULLS}/:number/reviews`]: (call) => {
    pullOf(call)
    return json([], 200, listHeaders(call, 0))
  },
  // Both names may have slashes.
  [`GET ${PULLS}/*ends`]: async (call) => {
    const ends = call.part('ends')
    const pull = call.service.store.book
      .of(repositoryOf(call).name)
      .findLast(({ base, head }) => [`${base}/${head}`, `${base}/${OWNER}:${head}`].includes(ends))
    if (pull === undefined) throw new Refusal(404, 'there is no such pull request')
    return await answerWith(call, pull)
  },
}

/** `admin:branch`, as for a head in another owner's repository. */
function withoutOwner(head: string): string {
  return head.startsWith(`${OWNER}:`) ? head.slice(OWNER.length + 1) : head
}

function pullOf(call: Call): Pull {
  const found = call.service.store.book.find(repositoryOf(call).name, numberOf(call, 'number'))
  if (found === undefined) throw new Refusal(404, 'there is no such pull request')
  return found
}

async function factsOf(call: Call) {
  const repository = repositoryOf(call)
  return { repository, facts: await pullFacts(repository, pullOf(call)) }
}

async function answerWith(call: Call, pull: Pull, status = 200): Promise<Answer> {
  return json(await toPullRequest(call.service, repositoryOf(call), pull), status)
}

function listPulls({ service, query }: Call, repo: string): Pull[] {
  const state = query.get('state') ?? 'open'
  const poster = query.get('poster') ?? ''
  const base = query.get('base_branch') ?? ''
  const labels = query.getAll('labels').map(Number).filter(Boolean)
  const found = service.store.book
    .of(repo)
    .filter((pull) => state === 'all' || pull.state === (state === 'closed' ? 'closed' : 'open'))
    .filter((pull) => (poster === '' || poster === OWNER) && (base === '' || pull.base === base))
    .filter((pull) => labels.every((label) => pull.labels.includes(label)))
  switch (query.get('sort')) {
    case 'oldest':
      return found
    case 'recentupdate':
      return found.sort((one, other) => order(other.updatedAt, one.updatedAt) || other.number - one.number)
    case 'leastupdate':
      return found.sort((one, other) => order(one.updatedAt, other.updatedAt) || one.number - other.number)
    default:
      return found.reverse()
  }
}

function order(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

async function change(call: Call, pull: Pull): Promise<Answer> {
  const repository = repositoryOf(call)
  const title = textField(call, 'title')
  const body = textField(call, 'body')
  const base = textField(call, 'base')
  const state = textField(call, 'state')
  const labels = labelIdsOf(call, repository.name)
  checkTexts(title, body)
  if (state !== undefined && state !== 'open' && state !== 'closed') throw new Refusal(422, 'state is open or closed')
  if (pull.merged !== undefined && (state !== undefined || base !== undefined))
    throw new Refusal(412, 'The PR is already merged: its state and base stay')
  if (base !== undefined && base !== pull.base) await checkEnds(repository, pull.head, base)
  if (state === 'open' && pull.state === 'closed') await checkEnds(repository, pull.head, base ?? pull.base)
  await call.service.store.change((book) => {
    const other = book.findOpen(pull.repo, pull.head, base ?? pull.base)
    if ((state ?? pull.state) === 'open' && other !== undefined && other !== pull)
      throw new Refusal(409, `pull request already exists for these targets [id: ${other.number}]`)
    const fields = { title, body, base, state, labels } satisfies Record<string, unknown>
    const given = Object.entries(fields).filter(([, value]) => value !== undefined)
    if (given.length === 0) return undefined
    return { kind: 'updated', repo: pull.repo, number: pull.number, ...Object.fromEntries(given) }
  })
  return await answerWith(call, pull, 201)
}

async function asText(call: Call, number: number, kind: 'diff' | 'patch'): Promise<Answer> {
  const repository = repositoryOf(call)
  const pull = call.service.store.book.find(repository.name, number)
  if (pull === undefined) throw new Refusal(404, 'there is no such pull request')
  const { mergeBase, headCommit } = await pullFacts(repository, pull)
  const args =
    kind === 'diff'
      ? ['diff', '--no-ext-diff', '--no-textconv', '--full-index', mergeBase, headCommit]
      : ['format-patch', '--stdout', '--no-ext-diff', '--no-textconv', '--no-signature', `${mergeBase}..${headCommit}`]
  return text((await git(repository.directory, args)).stdout)
}
