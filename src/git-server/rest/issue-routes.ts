/** REST: comments, labels and statuses. */
import type { CombinedStatus } from 'gitea-js'
import { PULL_BODY_MAX_BYTES, PULL_TITLE_MAX_CHARS } from '../../core/limits.ts'
import type { Comment, LabelLine, Pull, StatusLine } from '../pulls/pull-lines.ts'
import { Refusal } from '../repository/refusal.ts'
import { commitOfPart } from './branch-routes.ts'
import {
  type Call,
  empty,
  type Handler,
  json,
  listField,
  listHeaders,
  neededText,
  numberOf,
  pageOf,
  repositoryOf,
  rowsOn,
  textField,
} from './call.ts'
import { toComment, toLabel, toRepository, toStatus } from './shapes.ts'

const REPO = '/repos/:owner/:repo'
const STATES = ['pending', 'success', 'error', 'failure', 'warning', 'skipped']

export const issueRoutes: Readonly<Record<string, Handler>> = {
  [`GET ${REPO}/issues`]: (call) => {
    repositoryOf(call)
    return json([], 200, listHeaders(call, 0))
  },
  [`GET ${REPO}/issues/:number/comments`]: (call) => {
    const { repo, number } = pullOf(call)
    const all = [...call.service.store.book.comments.values()].filter(
      (one) => one.repo === repo && one.number === number,
    )
    return json(
      all.map((one) => toComment(call.service, one)),
      200,
      { 'x-total-count': String(all.length) },
    )
  },
  [`POST ${REPO}/issues/:number/comments`]: async (call) => {
    const { repo, number } = pullOf(call)
    const body = bodyOf(call)
    const line = await call.service.store.change((book) => ({
      kind: 'comment',
      repo,
      number,
      id: book.lastId + 1,
      body,
    }))
    return json(toComment(call.service, commentWith(call, line?.id ?? 0)), 201)
  },
  [`PATCH ${REPO}/issues/comments/:id`]: async (call) => {
    const { repo, number, id } = commentWith(call, numberOf(call, 'id'))
    const body = bodyOf(call)
    await call.service.store.change(() => ({ kind: 'comment', repo, number, id, body }))
    return json(toComment(call.service, commentWith(call, id)))
  },
  [`DELETE ${REPO}/issues/comments/:id`]: async (call) => {
    const { repo, number, id } = commentWith(call, numberOf(call, 'id'))
    await call.service.store.change(() => ({ kind: 'comment', repo, number, id, body: null }))
    return empty(204)
  },
  [`GET ${REPO}/labels`]: (call) => {
    const all = labelsIn(call, repositoryOf(call).name)
    const list = rowsOn(pageOf(call), all).map((one) => toLabel(call.service, one))
    return json(list, 200, listHeaders(call, all.length))
  },
  [`POST ${REPO}/labels`]: async (call) => {
    const repo = repositoryOf(call).name
    const name = neededText(call, 'name')
    const color = textField(call, 'color') ?? '#cccccc'
    const description = textField(call, 'description') ?? ''
    if (name.length > PULL_TITLE_MAX_CHARS || description.length > PULL_BODY_MAX_BYTES || color.length > 16)
      throw new Refusal(422, 'the label is too long')
    const line = await call.service.store.change((book) => {
      const id = book.lastId + 1
      return { kind: 'label', repo, id, name, color: color.replace(/^#/, ''), description }
    })
    const label = call.service.store.book.labels.get(line?.id ?? 0)
    if (label === undefined) throw new Refusal(500, 'the label was not kept')
    return json(toLabel(call.service, label), 201)
  },
  [`GET ${REPO}/issues/:number/labels`]: (call) => labelsAnswer(call, pullOf(call)),
  [`PUT ${REPO}/issues/:number/labels`]: async (call) => await setLabels(call, (given) => given),
  [`POST ${REPO}/issues/:number/labels`]: async (call) =>
    await setLabels(call, (given, before) => [...new Set([...before, ...given])]),
  [`DELETE ${REPO}/issues/:number/labels/:id`]: async (call) => {
    const pull = pullOf(call)
    const labels = pull.labels.filter((id) => id !== numberOf(call, 'id'))
    await call.service.store.change(() => ({ kind: 'updated', repo: pull.repo, number: pull.number, labels }))
    return empty(204)
  },
  [`POST ${REPO}/statuses/:sha`]: async (call) => {
    const repo = repositoryOf(call).name
    const sha = await commitOfPart(call, 'sha')
    const state = neededText(call, 'state')
    if (!STATES.includes(state)) throw new Refusal(422, `state is one of ${STATES.join(', ')}`)
    const context = textField(call, 'context') || 'default'
    const description = textField(call, 'description') ?? ''
    const target_url = textField(call, 'target_url') ?? ''
    if (Buffer.byteLength(context + description + target_url) > PULL_BODY_MAX_BYTES)
      throw new Refusal(422, 'the status is too long')
    const about = { repo, sha, state, context, description, target_url }
    const line = await call.service.store.change((book) => ({ kind: 'status', id: book.lastId + 1, ...about }))
    const kept = call.service.store.book.statuses.find(({ id }) => id === line?.id)
    if (kept === undefined) throw new Refusal(500, 'the status was not kept')
    return json(toStatus(call.service, kept), 201)
  },
  [`GET ${REPO}/statuses/:ref`]: async (call) => await statusesAnswer(call),
  [`GET ${REPO}/commits/*ref/statuses`]: async (call) => await statusesAnswer(call),
  [`GET ${REPO}/commits/*ref/status`]: async (call) => {
    const repository = repositoryOf(call)
    const sha = await commitOfPart(call, 'ref')
    const latest = new Map<string, StatusLine>()
    for (const line of statusesOf(call, repository.name, sha)) {
      if (!latest.has(line.context)) latest.set(line.context, line)
    }
    const answer = {
      state: worstOf([...latest.values()]) as NonNullable<CombinedStatus['state']>,
      sha,
      total_count: latest.size,
      statuses: [...latest.values()].map((line) => toStatus(call.service, line)),
      repository: await toRepository(call.service, repository),
      commit_url: '',
      url: '',
    } satisfies CombinedStatus
    return json(answer)
  },
}

/** Ids, or names, of labels of the repository; undefined where the body has none. Throws 422 for one that is not there. */
export function labelIdsOf(call: Call, repo: string): number[] | undefined {
  const known = labelsIn(call, repo)
  return listField(call, 'labels')?.map((given) => {
    const label = known.find(({ id, name }) => id === given || name === given)
    if (label === undefined) throw new Refusal(422, 'labels names a label that is not there')
    return label.id
  })
}

function labelsIn({ service }: Call, repo: string): LabelLine[] {
  return [...service.store.book.labels.values()].filter((label) => label.repo === repo)
}

function labelsAnswer(call: Call, pull: Pull) {
  const labels = labelsIn(call, pull.repo).filter(({ id }) => pull.labels.includes(id))
  return json(labels.map((label) => toLabel(call.service, label)))
}

async function setLabels(call: Call, decide: (given: number[], before: readonly number[]) => number[]) {
  const pull = pullOf(call)
  const labels = decide(labelIdsOf(call, pull.repo) ?? [], pull.labels)
  await call.service.store.change(() => ({ kind: 'updated', repo: pull.repo, number: pull.number, labels }))
  return labelsAnswer(call, pull)
}

function pullOf(call: Call): Pull {
  const found = call.service.store.book.find(repositoryOf(call).name, numberOf(call, 'number'))
  if (found === undefined) throw new Refusal(404, 'there is no such pull request')
  return found
}

function commentWith(call: Call, id: number): Comment {
  const found = call.service.store.book.comments.get(id)
  if (found === undefined || found.repo !== repositoryOf(call).name) throw new Refusal(404, 'there is no such comment')
  return found
}

function bodyOf(call: Call): string {
  const body = neededText(call, 'body')
  if (Buffer.byteLength(body) > PULL_BODY_MAX_BYTES)
    throw new Refusal(422, `the body has more than ${PULL_BODY_MAX_BYTES} bytes`)
  return body
}

/** Newest first. */
function statusesOf({ service }: Call, repo: string, sha: string): StatusLine[] {
  return service.store.book.statuses.filter((line) => line.repo === repo && line.sha === sha).reverse()
}

async function statusesAnswer(call: Call) {
  const all = statusesOf(call, repositoryOf(call).name, await commitOfPart(call, 'ref'))
  const list = rowsOn(pageOf(call), all).map((line) => toStatus(call.service, line))
  return json(list, 200, listHeaders(call, all.length))
}

function worstOf(lines: readonly StatusLine[]): string {
  const states = lines.map(({ state }) => state)
  for (const bad of ['error', 'failure']) if (states.includes(bad)) return 'failure'
  if (states.length === 0 || states.includes('pending')) return 'pending'
  return states.includes('warning') ? 'warning' : 'success'
}
