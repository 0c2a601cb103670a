/** REST: branches, commits and comparisons. */
import type { Compare } from 'gitea-js'
import { deleteBranch } from '../pulls/merge-pull.ts'
import { refsMoved } from '../pulls/refs-moved.ts'
import {
  branchTip,
  countCommits,
  listBranches,
  mergeBaseOf,
  readChanges,
  readCommit,
  readCommits,
  readTheCommits,
  resolveCommit,
} from '../repository/commits.ts'
import { git } from '../repository/git.ts'
import { isBranchName } from '../repository/names.ts'
import { Refusal } from '../repository/refusal.ts'
import { defaultBranchOf, type Repository } from '../repository/repositories.ts'
import {
  type Call,
  empty,
  type Handler,
  json,
  listHeaders,
  neededText,
  pageOf,
  repositoryOf,
  rowsOn,
  textField,
} from './call.ts'
import { toBranch, toCommit } from './shapes.ts'

export const branchRoutes: Readonly<Record<string, Handler>> = {
  'GET /repos/:owner/:repo/branches': async (call) => {
    const { name, directory } = repositoryOf(call)
    const all = await listBranches(directory)
    const rows = rowsOn(pageOf(call), all)
    const commits = await readTheCommits(
      directory,
      rows.map(({ sha }) => sha),
    )
    const bySha = new Map(commits.map((commit) => [commit.sha, commit]))
    const list = rows.flatMap((row) => {
      const commit = bySha.get(row.sha)
      return commit === undefined ? [] : [toBranch(call.service, name, row.name, commit)]
    })
    return json(list, 200, listHeaders(call, all.length))
  },
  'POST /repos/:owner/:repo/branches': async (call) => {
    const repository = repositoryOf(call)
    const { directory } = repository
    const branch = neededText(call, 'new_branch_name')
    if (!isBranchName(branch)) throw new Refusal(422, 'new_branch_name is not the name of a branch')
    const from = textField(call, 'old_ref_name') || textField(call, 'old_branch_name')
    const to = await commitOf(repository, from?.replace(/^refs\/(?:heads|tags)\//, ''))
    const none = '0'.repeat(to.length)
    const ref = `refs/heads/${branch}`
    const { code } = await git(directory, ['update-ref', ref, to, none], { answers: [1, 128] })
    if (code !== 0) throw new Refusal(409, 'The branch already exists.')
    await refsMoved(call.service, repository, [{ ref, from: none, to }])
    return json(toBranch(call.service, repository.name, branch, await readCommit(directory, to)), 201)
  },
  'GET /repos/:owner/:repo/branches/*branch': async (call) => {
    const { name, directory } = repositoryOf(call)
    const branch = call.part('branch')
    const tip = await branchTip(directory, branch)
    if (tip === undefined) throw new Refusal(404, `there is no branch ${branch}`)
    return json(toBranch(call.service, name, branch, await readCommit(directory, tip)))
  },
  'DELETE /repos/:owner/:repo/branches/*branch': async (call) => {
    const repository = repositoryOf(call)
    const branch = call.part('branch')
    if (!isBranchName(branch)) throw new Refusal(404, 'there is no such branch')
    if (branch === (await defaultBranchOf(repository))) throw new Refusal(403, 'the default branch stays')
    await deleteBranch(call.service, repository, branch)
    return empty(204)
  },
  'GET /repos/:owner/:repo/commits': async (call) => {
    const repository = repositoryOf(call)
    const { name, directory } = repository
    const start = await commitOf(repository, call.query.get('sha') || undefined)
    const path = call.query.get('path')
    const of = path ? ['--', path] : []
    const { page, limit } = pageOf(call)
    const total = await countCommits(directory, [start, ...of])
    const commits = await readCommits(directory, [`--skip=${(page - 1) * limit}`, `--max-count=${limit}`, start, ...of])
    const list = commits.map((commit) => toCommit(call.service, name, commit))
    return json(list, 200, { ...listHeaders(call, total), 'x-total': String(total) })
  },
  'GET /repos/:owner/:repo/git/commits/*sha': async (call) => {
    const repository = repositoryOf(call)
    const { name, directory } = repository
    const commit = await readCommit(directory, await commitOf(repository, call.part('sha')))
    return json(toCommit(call.service, name, commit, await readChanges(directory, commit.parents[0], commit.sha)))
  },
  'GET /repos/:owner/:repo/compare/*ends': async (call) => {
    const repository = repositoryOf(call)
    const { name, directory } = repository
    const [, base, dots, head] = /^(.+?)(\.\.\.?)(.+)$/.exec(call.part('ends')) ?? []
    if (base === undefined || head === undefined) throw new Refusal(404, 'compare needs two names: base...head')
    const [from, to] = [await commitOf(repository, base), await commitOf(repository, head)]
    const start = dots === '...' ? ((await mergeBaseOf(directory, from, to)) ?? from) : from
    const { page, limit } = pageOf(call)
    const total = await countCommits(directory, [`${start}..${to}`])
    const some = [`--skip=${(page - 1) * limit}`, `--max-count=${limit}`]
    const commits = await readCommits(directory, [...some, `${start}..${to}`])
    const answer = {
      total_commits: total,
      commits: commits.map((commit) => toCommit(call.service, name, commit)),
    } satisfies Compare
    return json(answer)
  },
}

/** The commit that a name means; the default branch where there is no name. Throws 404. */
export async function commitOf(repository: Repository, name: string | undefined): Promise<string> {
  const wanted = name ?? (await defaultBranchOf(repository))
  const found = await resolveCommit(repository.directory, wanted)
  if (found === undefined) throw new Refusal(404, `there is no branch, tag or commit ${wanted.slice(0, 200)}`)
  return found
}

export async function commitOfPart(call: Call, part: string): Promise<string> {
  return await commitOf(repositoryOf(call), call.part(part))
}
