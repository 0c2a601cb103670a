/** Operations on the work of an instance in its repositories (docs/git.md, Seeing the work). */
import { flag, listOf, object, oneOf, optional, text } from '../../schema/schema.ts'
import { changedRepo, DIFF_BASES, pullRequest, repoDiff, repoHistory } from '../changes.ts'
import type { Operation } from './operation.ts'

const REFUSES = ['instance_unknown', 'repo_unknown', 'change_unknown', 'journal_broken'] as const
const GIT_TROUBLE = ['work_unreadable', 'git_missing', 'lock_held', 'docker_unreachable', 'container_refused'] as const

const diffQuery = object({
  base: optional(oneOf(DIFF_BASES, { description: 'What it is compared with; default: start' })),
  snapshot: optional(
    text({
      description: 'The number of a snapshot, last for the latest one, or pushed; default: the work as it is now',
    }),
  ),
  path: optional(text({ maxLength: 4_096, description: 'Only this file, as it is listed' })),
  patch: optional(flag({ description: 'With the patch' })),
})

const bundleQuery = object({
  whole: optional(flag({ description: 'Also what the upstream had at the start' })),
})

export const GIT_OPERATIONS = {
  getInstanceRepos: {
    method: 'GET',
    path: '/instances/{id}/repos',
    scope: 'read',
    tag: 'git',
    summary: 'List its repositories',
    answers: { 200: { description: 'In the order of its workspace', json: listOf(changedRepo) } },
    refuses: ['instance_unknown', 'journal_broken', ...GIT_TROUBLE],
  },
  getInstanceRepoDiff: {
    method: 'GET',
    path: '/instances/{id}/repos/{repo}/diff',
    scope: 'read',
    tag: 'git',
    summary: 'Read what changed in a repository',
    description: 'While the instance runs, the workspace is read as it is now; afterwards the last snapshot is.',
    query: diffQuery,
    answers: { 200: { description: 'The files, and the patch where it was asked for', json: repoDiff } },
    refuses: ['request_invalid', ...REFUSES, ...GIT_TROUBLE],
  },
  getInstanceRepoCommits: {
    method: 'GET',
    path: '/instances/{id}/repos/{repo}/commits',
    scope: 'read',
    tag: 'git',
    summary: 'List pushed commits, and snapshots',
    answers: { 200: { description: 'Commits since the start', json: repoHistory } },
    refuses: [...REFUSES, ...GIT_TROUBLE],
  },
  getInstanceRepoPulls: {
    method: 'GET',
    path: '/instances/{id}/repos/{repo}/pulls',
    scope: 'read',
    tag: 'git',
    summary: 'List the pull requests that its worker opened',
    answers: { 200: { description: 'By number', json: listOf(pullRequest) } },
    refuses: ['instance_unknown', 'repo_unknown', 'journal_broken'],
  },
  getInstanceRepoBundle: {
    method: 'GET',
    path: '/instances/{id}/repos/{repo}/bundle',
    scope: 'read',
    tag: 'git',
    summary: 'Download pushed branches and the work as a git bundle',
    query: bundleQuery,
    answers: { 200: { description: 'A bundle, for "git fetch"', type: 'application/x-git-bundle' } },
    refuses: ['input_too_large', 'request_invalid', ...REFUSES, ...GIT_TROUBLE],
  },
} as const satisfies Record<string, Operation>
