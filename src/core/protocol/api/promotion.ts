/** The operation that promotes: brings a branch of an instance upstream as a pull request (docs/git.md, Promotion). */
import { PROMOTION_TITLE_MAX_CHARS } from '../../limits.ts'
import {
  closed,
  count,
  flag,
  integer,
  listOf,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  text,
} from '../../schema/schema.ts'
import { HOST_TROUBLE, type Operation } from './operation.ts'

/** Workflow files, and others that run with the rights of the forge. */
const ALLOWED = ['workflows'] as const

export type PromotionAsk = Static<typeof promotionAsk>

const promotionAsk = closed({
  pr_title: optional(
    text({
      maxLength: PROMOTION_TITLE_MAX_CHARS,
      description:
        'By default that of the pull request at the git server of the instance, else the subject of the last commit',
    }),
  ),
  pr_body: optional(
    nullable(text({ description: 'By default that of the pull request at the git server of the instance' })),
  ),
  branch: optional(nullable(text({ description: 'By default the working branch' }))),
  target_branch: optional(nullable(text({ description: 'By default the default branch of the upstream' }))),
  draft: optional(flag()),
  update: optional(flag({ description: 'false: title and text of an open pull request stay', default: true })),
  allow: optional(
    listOf(oneOf(ALLOWED), {
      description: 'workflows: files that run with the rights of the forge may change, because a person looked at them',
    }),
  ),
  commit: optional(
    nullable(
      text({
        description:
          'The commit that was looked at, as a dry run gave it: refused where the branch has another one now. Needed with allow',
      }),
    ),
  ),
  rebase: optional(flag({ description: 'Make the commits again on top of the target, where it has moved on' })),
  dry_run: optional(flag({ description: 'Only look: nothing is pushed' })),
})

export type PromotionOutcome = Static<typeof promotionOutcome>

const promotionOutcome = object({
  success: flag({ description: 'false after a dry run' }),
  pr_url: nullable(text({ description: 'null after a dry run' })),
  number: nullable(integer()),
  repo: text(),
  branch: text(),
  target_branch: text(),
  pr_title: text(),
  pr_body: optional(text({ description: 'Absent from servers of an older version' })),
  commit: text(),
  created: flag({ description: 'false where an open pull request was updated' }),
  ahead: count({ description: 'Commits that the target does not have' }),
  behind: count({ description: 'Commits of the target that the branch does not have' }),
  conflicts: listOf(text(), { description: 'Paths that cannot be merged' }),
  files: count(),
  additions: count(),
  deletions: count(),
  bytes: count(),
  sensitive: listOf(text(), { description: 'Paths that run with the rights of the forge' }),
  secrets: listOf(text(), { description: 'Paths to which a commit adds a known secret' }),
})

export const PROMOTION_OPERATIONS = {
  postInstancePromote: {
    method: 'POST',
    path: '/instances/{id}/repos/{repo}/promote',
    scope: 'run',
    tag: 'instances',
    summary: 'Bring a branch upstream as a pull request',
    description: 'Repeating it ends at the same pull request.',
    body: promotionAsk,
    bodyOptional: true,
    answers: { 200: { description: 'The pull request, and what the branch changes', json: promotionOutcome } },
    refuses: [
      ...(['instance_unknown', 'repo_unknown', 'promotion_branch_refused', 'promotion_invalid'] as const),
      ...(['promotion_target_missing', 'promotion_secret_found', 'promotion_needs_approval'] as const),
      ...([
        'promotion_branch_moved',
        'nothing_to_promote',
        'promotion_commit_changed',
        'promotion_conflict',
        'promotion_push_refused',
        'promotions_broken',
      ] as const),
      ...(['forge_unknown', 'forge_auth_failed', 'forge_forbidden', 'forge_not_found', 'forge_busy'] as const),
      ...(['forge_unreachable', 'forge_refused', 'git_missing', 'git_failed'] as const),
      ...HOST_TROUBLE,
    ],
  },
} as const satisfies Record<string, Operation>
