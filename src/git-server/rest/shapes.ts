/** The objects of Gitea's API, made from what git and the pull requests say. The types are those of a client of that API. */
import type * as Gitea from 'gitea-js'
import { isDraft } from '../pulls/open-pull.ts'
import { pullFacts } from '../pulls/pull-facts.ts'
import type { Comment, LabelLine, Pull, StatusLine } from '../pulls/pull-lines.ts'
import { type GitService, OWNER, pullUrl } from '../pulls/service.ts'
import { type CommitFacts, type FileChange, hasBranches } from '../repository/commits.ts'
import { bytesBelow, defaultBranchOf, type Repository } from '../repository/repositories.ts'

const EMAIL = 'admin@git-server.localhost'
const BEGINNING = '2020-01-01T00:00:00Z'

export function toUser({ baseUrl }: GitService) {
  return {
    id: 1,
    login: OWNER,
    login_name: OWNER,
    source_id: 0,
    full_name: OWNER,
    email: EMAIL,
    avatar_url: `${baseUrl}/avatars/${OWNER}`,
    html_url: `${baseUrl}/${OWNER}`,
    language: 'en-US',
    is_admin: true,
    last_login: BEGINNING,
    created: BEGINNING,
    restricted: false,
    active: true,
    prohibit_login: false,
    location: '',
    website: '',
    description: '',
    visibility: 'public',
    followers_count: 0,
    following_count: 0,
    starred_repos_count: 0,
  } satisfies Gitea.User
}

export async function toRepository(service: GitService, repository: Repository) {
  const { name, id, createdAt, directory } = repository
  const { baseUrl, store } = service
  const url = `${baseUrl}/${OWNER}/${name}`
  return {
    id,
    owner: toUser(service),
    name,
    full_name: `${OWNER}/${name}`,
    description: '',
    empty: !(await hasBranches(directory)),
    private: true,
    fork: false,
    template: false,
    // With `true` Renovate does not work in it.
    mirror: false,
    size: await sizeInKib(directory),
    language: '',
    languages_url: `${baseUrl}/api/v1/repos/${OWNER}/${name}/languages`,
    html_url: url,
    url: `${baseUrl}/api/v1/repos/${OWNER}/${name}`,
    link: '',
    ssh_url: '',
    clone_url: `${url}.git`,
    original_url: '',
    website: '',
    stars_count: 0,
    forks_count: 0,
    watchers_count: 0,
    open_issues_count: 0,
    open_pr_counter: store.book.of(name).filter(({ state }) => state === 'open').length,
    release_counter: 0,
    default_branch: await defaultBranchOf(repository),
    archived: false,
    created_at: createdAt,
    updated_at: createdAt,
    permissions: { admin: true, push: true, pull: true },
    has_issues: false,
    has_wiki: false,
    has_pull_requests: true,
    has_projects: false,
    has_releases: false,
    has_packages: false,
    has_actions: false,
    ignore_whitespace_conflicts: false,
    allow_merge_commits: true,
    allow_rebase: true,
    allow_rebase_explicit: false,
    allow_squash_merge: true,
    allow_fast_forward_only_merge: true,
    allow_rebase_update: true,
    default_delete_branch_after_merge: false,
    default_merge_style: 'merge',
    default_allow_maintainer_edit: false,
    avatar_url: '',
    internal: false,
    mirror_interval: '',
    object_format_name: 'sha1',
  } satisfies Gitea.Repository
}

const SIZE_KEPT_MS = 5_000
const sizes = new Map<string, { atMs: number; kib: number }>()

/** Each pull request of a list names its repository twice, and measuring it reads its directories. */
async function sizeInKib(directory: string): Promise<number> {
  const known = sizes.get(directory)
  if (known !== undefined && Date.now() - known.atMs < SIZE_KEPT_MS) return known.kib
  const kib = Math.ceil((await bytesBelow(directory)) / 1024)
  sizes.set(directory, { atMs: Date.now(), kib })
  return kib
}

/** A commit as branches name it. */
export function toPayloadCommit(service: GitService, repo: string, commit: CommitFacts) {
  return {
    id: commit.sha,
    message: commit.message,
    url: commitUrl(service, repo, commit.sha),
    author: { name: commit.author.name, email: commit.author.email, username: '' },
    committer: { name: commit.committer.name, email: commit.committer.email, username: '' },
    timestamp: commit.committer.date,
    added: [],
    removed: [],
    modified: [],
  } satisfies Gitea.PayloadCommit
}

export function toBranch(service: GitService, repo: string, name: string, commit: CommitFacts) {
  return {
    name,
    commit: toPayloadCommit(service, repo, commit),
    protected: false,
    required_approvals: 0,
    enable_status_check: false,
    status_check_contexts: [],
    user_can_push: true,
    user_can_merge: true,
    effective_branch_protection_name: '',
  } satisfies Gitea.Branch
}

export function toCommit(service: GitService, repo: string, commit: CommitFacts, changes?: readonly FileChange[]) {
  const api = `${service.baseUrl}/api/v1/repos/${OWNER}/${repo}/git`
  const sum = (of: 'additions' | 'deletions') => (changes ?? []).reduce((total, change) => total + change[of], 0)
  return {
    url: `${api}/commits/${commit.sha}`,
    sha: commit.sha,
    created: commit.committer.date,
    html_url: commitUrl(service, repo, commit.sha),
    commit: {
      url: `${api}/commits/${commit.sha}`,
      author: { ...commit.author },
      committer: { ...commit.committer },
      message: commit.message,
      tree: { url: `${api}/trees/${commit.tree}`, sha: commit.tree, created: commit.committer.date },
    },
    parents: commit.parents.map((sha) => ({ url: `${api}/commits/${sha}`, sha, created: commit.committer.date })),
    ...(changes === undefined
      ? {}
      : {
          files: changes.map(({ path, status }) => ({ filename: path, status: toGiteaStatus(status) })),
          stats: {
            total: sum('additions') + sum('deletions'),
            additions: sum('additions'),
            deletions: sum('deletions'),
          },
        }),
  } satisfies Gitea.Commit
}

function toGiteaStatus(status: FileChange['status']): string {
  if (status === 'deleted') return 'removed'
  return status === 'changed' ? 'modified' : status
}

function commitUrl({ baseUrl }: GitService, repo: string, sha: string): string {
  return `${baseUrl}/${OWNER}/${repo}/commit/${sha}`
}

export function toChangedFile(service: GitService, repo: string, sha: string, change: FileChange) {
  const path = change.path.split('/').map(encodeURIComponent).join('/')
  return {
    filename: change.path,
    ...(change.previousPath === undefined ? {} : { previous_filename: change.previousPath }),
    status: change.status,
    additions: change.additions,
    deletions: change.deletions,
    changes: change.additions + change.deletions,
    html_url: `${service.baseUrl}/${OWNER}/${repo}/src/commit/${sha}/${path}`,
    contents_url: `${service.baseUrl}/api/v1/repos/${OWNER}/${repo}/contents/${path}?ref=${sha}`,
    raw_url: `${service.baseUrl}/api/v1/repos/${OWNER}/${repo}/raw/${path}?ref=${sha}`,
  } satisfies Gitea.ChangedFile
}

export async function toPullRequest(service: GitService, repository: Repository, pull: Pull) {
  const facts = await pullFacts(repository, pull)
  const repo = await toRepository(service, repository)
  const url = pullUrl(service, pull.repo, pull.number)
  const isMerged = pull.merged !== undefined
  const end = (ref: string, sha: string) => ({ label: ref, ref, sha, repo_id: repository.id, repo })
  return {
    id: pull.number,
    url,
    number: pull.number,
    user: toUser(service),
    title: pull.title,
    body: pull.body,
    labels: pull.labels.flatMap((id) => {
      const label = service.store.book.labels.get(id)
      return label === undefined ? [] : [toLabel(service, label)]
    }),
    assignees: [],
    requested_reviewers: [],
    requested_reviewers_teams: [],
    state: pull.state as Gitea.StateType,
    draft: isDraft(pull.title),
    is_locked: false,
    comments: [...service.store.book.comments.values()].filter((one) => isOf(one, pull)).length,
    review_comments: 0,
    additions: facts.additions,
    deletions: facts.deletions,
    changed_files: facts.files,
    html_url: url,
    diff_url: `${url}.diff`,
    patch_url: `${url}.patch`,
    mergeable: pull.state === 'open' && facts.isMergeable,
    merged: isMerged,
    ...(pull.merged === undefined
      ? {}
      : { merged_at: pull.merged.at, merge_commit_sha: pull.merged.commit, merged_by: toUser(service) }),
    allow_maintainer_edit: false,
    base: end(pull.base, facts.baseCommit),
    head: end(pull.head, facts.headCommit),
    merge_base: facts.mergeBase,
    created_at: pull.createdAt,
    updated_at: pull.updatedAt,
    ...(pull.closedAt === null ? {} : { closed_at: pull.closedAt }),
    pin_order: 0,
  } satisfies Gitea.PullRequest
}

function isOf(comment: Comment, pull: Pull): boolean {
  return comment.repo === pull.repo && comment.number === pull.number
}

export function toComment(service: GitService, comment: Comment) {
  const url = pullUrl(service, comment.repo, comment.number)
  return {
    id: comment.id,
    html_url: `${url}#issuecomment-${comment.id}`,
    pull_request_url: url,
    issue_url: '',
    user: toUser(service),
    original_author: '',
    original_author_id: 0,
    body: comment.body,
    assets: [],
    created_at: comment.createdAt,
    updated_at: comment.updatedAt,
  } satisfies Gitea.Comment
}

export function toLabel({ baseUrl }: GitService, label: LabelLine) {
  return {
    id: label.id,
    name: label.name,
    exclusive: false,
    is_archived: false,
    color: label.color,
    description: label.description,
    url: `${baseUrl}/api/v1/repos/${OWNER}/${label.repo}/labels/${label.id}`,
  } satisfies Gitea.Label
}

export function toStatus(service: GitService, line: StatusLine) {
  return {
    id: line.id,
    status: line.state as Gitea.CommitStatusState,
    target_url: line.target_url,
    description: line.description,
    url: `${service.baseUrl}/api/v1/repos/${OWNER}/${line.repo}/statuses/${line.sha}`,
    context: line.context,
    creator: toUser(service),
    created_at: line.at,
    updated_at: line.at,
  } satisfies Gitea.CommitStatus
}
