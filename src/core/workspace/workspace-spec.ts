/**
 * Checks the workspace_spec of a resolver and fixes what it means for a new instance: addresses, names, branches (docs/git.md, What is
 * refused). The inquiry before a creation calls it.
 */
import { fail } from '../errors.ts'
import type { GitHosts } from '../git/git-hosts.ts'
import { REPOS_MAX } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import type { RepoPlan, WorkspacePlan } from '../protocol/workspace.ts'
import { branchFault, isCommitId } from './ref-names.ts'
import { AddressFault, parseRepoAddress, type RepoAddress } from './repo-address.ts'

interface AskedRepo {
  address: RepoAddress
  branch: string | null
}

/** null where neither a repository nor a git server is wanted. Throws `repo_refused` with a sentence for the first rule that is broken. */
export function planWorkspace(
  spec: Readonly<Record<string, unknown>> | null,
  hosts: GitHosts,
  instanceId: string,
): WorkspacePlan | null {
  const asked = spec?.['repos'] ?? []
  if (!Array.isArray(asked)) throw refused('repos', 'it must be a list')
  if (asked.length > REPOS_MAX) throw refused('repos', `a workspace has at most ${REPOS_MAX} repositories`)
  const branch = workingBranch(spec?.['working_branch'])
  const repos = asked.map((repo) => readRepo(repo, hosts))
  const isGitea = spec?.['gitea'] === true
  const isWanted = isGitea || spec?.['git_server'] === true
  const server = { ...(isWanted ? { git_server: true } : {}), ...(isGitea ? { gitea: true } : {}) }
  if (repos.length === 0) return isWanted ? { repos: [], ...server } : null
  const names = namesOf(repos.map(({ address }) => address))
  return {
    ...server,
    repos: repos.map(({ address: { url }, branch: base }, at): RepoPlan => {
      const name = names[at] as string
      return { name, url, branch: base, working_branch: branch ?? defaultBranch(name, instanceId) }
    }),
  }
}

function readRepo(repo: unknown, hosts: GitHosts): AskedRepo {
  const { url, branch = null } = isObject(repo) ? repo : { url: repo }
  if (typeof url !== 'string') throw refused('repos', 'each repository needs a url')
  const text = url.trim()
  try {
    const address = parseRepoAddress(text, hosts)
    return { address, branch: baseBranch(branch, text) }
  } catch (error) {
    if (error instanceof AddressFault) throw refused(text === '' ? 'The address of a repository' : text, error.reason)
    throw error
  }
}

function baseBranch(branch: unknown, url: string): string | null {
  if (branch === null || branch === '') return null
  if (typeof branch !== 'string') throw refused(url, 'its branch must be a text')
  const fault = branchFault(branch)
  if (fault !== null) throw refused(url, `its branch "${branch.slice(0, 100)}" can't be used: ${fault}`)
  return branch
}

function workingBranch(branch: unknown): string | null {
  if (branch === null || branch === undefined || branch === '') return null
  if (typeof branch !== 'string') throw refused('working_branch', 'it must be a text')
  const fault = branchFault(branch) ?? (isCommitId(branch) ? 'it looks like a commit' : null)
  if (fault !== null) throw refused(`working_branch ${branch.slice(0, 100)}`, fault)
  return branch
}

function defaultBranch(name: string, instanceId: string): string {
  const branch = `resolve/${name}-${instanceId.slice(0, 8)}`
  // Two dots may stand in the name of a repository, but not in that of a branch.
  return branch.replace(/\.{2,}/g, '.')
}

/**
 * A directory for each repository. The second one of a name gets its owner before it, and then a number. Compared without case, because
 * file systems may do so.
 */
export function namesOf(repos: readonly Pick<RepoAddress, 'name' | 'owner'>[]): string[] {
  const taken = new Set<string>()
  return repos.map(({ name, owner }) => {
    const candidates = [name, ...(owner === '' ? [] : [`${owner}-${name}`.slice(0, 100)])]
    let chosen = candidates.find((candidate) => !taken.has(candidate.toLowerCase()))
    for (let number = 2; chosen === undefined; number++) {
      const numbered = `${name.slice(0, 90)}-${number}`
      if (!taken.has(numbered.toLowerCase())) chosen = numbered
    }
    taken.add(chosen.toLowerCase())
    return chosen
  })
}

function refused(what: string, reason: string) {
  return fail('repo_refused', { what: withoutUser(what).slice(0, 300), reason })
}

/** An address may have a password in it; other tokens could stand in a query. */
function withoutUser(text: string): string {
  return text
    .replace(/(:\/\/)[^/\s]*@/g, '$1…@')
    .replace(/[?#].*$/, '?…')
    .replace(/\p{C}/gu, '')
}
