/** Git: repositories, the git server, promotion and the forges upstream. */
import type { Entry } from './entry.ts'

export const gitErrors = {
  git_missing: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (_: Record<string, never>) => "Can't run git.",
    hint: () => 'Install git and run the command again.',
  },
  git_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { url: string; reason: string }) => `Can't fetch ${d.url}: ${d.reason}`,
    outside: () => "Can't fetch the source.",
    hint: () => 'Check the address, the ref, and that this machine has access.',
  },
  bundle_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { bundle: string; reason: string }) => `Can't fetch the bundle ${d.bundle}: ${d.reason}`,
    outside: () => "Can't fetch a bundle of the resolver.",
    hint: () => 'Check the address and the ref in container.bundles of the manifest, and that this machine has access.',
  },
  work_unreadable: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { reason: string }) => `Can't read the work in the repository: ${d.reason}`,
    outside: () => "Can't read the work in the repository.",
    hint: () => 'See what was kept before: resolve instance diff ID --snapshot last',
  },
  repo_refused: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { what: string; reason: string }) =>
      `The resolver wants a workspace that can't be made. ${d.what}: ${d.reason}.`,
    hint: (d: { reason: string }) =>
      d.reason.includes('RESOLVE_GIT_LOCAL')
        ? 'export RESOLVE_GIT_LOCAL=DIRECTORY, for example $HOME/src'
        : 'The rules are in docs/git.md, section "What is refused".',
  },
  repo_clone_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { repo: string; url: string; reason: string }) => `Can't clone ${d.url}: ${d.reason}`,
  },
  repo_auth_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { repo: string; url: string; has_token: boolean }) =>
      d.has_token
        ? `${d.url} can't be read: it does not exist, or the token of the git host may not read it.`
        : `${d.url} can't be read without a token: it is private, or it does not exist.`,
    hint: () =>
      'Set RESOLVE_GIT_HOST_TOKEN, and RESOLVE_GIT_BASE_URL for a host of your own: the token is sent to no other host.',
  },
  repo_ref_missing: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { repo: string; url: string; ref: string; nearest: readonly string[] }) =>
      `${d.url} has no branch, tag or commit "${d.ref}".${d.nearest.length === 0 ? '' : ` The nearest names: ${d.nearest.join(', ')}.`}`,
  },
  repo_too_large: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { repo: string; url: string; limit: number }) => `${d.url} is larger than ${d.limit} bytes.`,
  },
  git_server_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { reason: string }) => `The git server of the instance failed: ${d.reason}.`,
    outside: () => 'The git server of the instance failed.',
    hint: () => 'Its own words are in git/server/server.log of the instance.',
  },
  repo_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { repo: string; names: readonly string[] }) =>
      `The instance has no repository "${d.repo.slice(0, 100)}".${d.names.length === 0 ? '' : ` It has: ${d.names.join(', ')}.`}`,
  },
  promotion_not_requested: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (_: Record<never, never>) => 'Promotion was not requested.',
    hint: () =>
      'A worker may promote where the input has "delivery_mode": "promote"; a person can promote any instance.',
  },
  promotion_branch_refused: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { branch: string; reason: string }) => `The branch "${d.branch}" can't be promoted: ${d.reason}.`,
  },
  promotion_invalid: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { problem: string }) => `The promotion is refused: ${d.problem}.`,
  },
  promotion_target_missing: {
    kind: 'user',
    http: 422,
    exit: 6,
    message: (d: { target: string; repo: string }) => `${d.repo} has no branch "${d.target}".`,
  },
  promotion_secret_found: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { branch: string; paths: readonly string[] }) =>
      `The branch "${d.branch}" adds a known secret, in ${d.paths.join(', ')}.`,
    hint: () => 'Remove the secret from every commit of the branch, and replace the secret where it was in use.',
  },
  promotion_needs_approval: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { branch: string; paths: readonly string[]; commit: string }) =>
      `The branch "${d.branch}" changes what runs with the rights of the forge: ${d.paths.join(', ')}.`,
    hint: (d: { commit: string }) =>
      `A person must look at these files, then promote with --allow workflows --commit ${d.commit}.`,
  },
  promotion_commit_changed: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { branch: string; seen: string; commit: string }) =>
      `The branch "${d.branch}" would be promoted as ${d.commit.slice(0, 10)} now, not as ${d.seen.slice(0, 10)} that was looked at.`,
    hint: () => 'Look again with --dry-run, then promote.',
  },
  promotion_conflict: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { branch: string; target: string; paths: readonly string[] }) =>
      `The branch "${d.branch}" can't be rebased on "${d.target}": in conflict are ${d.paths.join(', ')}.`,
    hint: () =>
      'Let the resolver bring the target in and push again, or promote without --rebase and resolve it there.',
  },
  promotion_branch_moved: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { branch: string; repo: string }) =>
      `The branch "${d.branch}" of ${d.repo} has commits that this instance did not push; nothing was overwritten.`,
    hint: () => 'Promote under another name, or remove that branch.',
  },
  nothing_to_promote: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { branch: string; target: string }) =>
      `The branch "${d.branch}" has no commits that "${d.target}" does not have.`,
  },
  promotion_push_refused: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { repo: string; words: string }) => `${d.repo} refused the push: ${d.words}`,
  },
  promotions_broken: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't read the promotions in ${d.path}: ${d.reason}.`,
    outside: () => "Can't read the promotions of the instance.",
  },
  forge_unknown: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { host: string }) => `Can't tell which forge this is: ${d.host}.`,
    hint: () =>
      'Set RESOLVE_GIT_PROVIDER to github, gitlab, gitea, bitbucket, bitbucket_server or azure, and RESOLVE_GIT_BASE_URL to its address.',
  },
  forge_auth_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { host: string; words: string }) =>
      `${d.host} does not take the token.${d.words === '' ? '' : ` ${d.words}`}`,
    hint: () =>
      'Set RESOLVE_GIT_HOST_TOKEN or RESOLVE_GIT_TOKEN_COMMAND, and RESOLVE_GIT_BASE_URL for a host of your own.',
  },
  forge_forbidden: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { repo: string; words: string }) =>
      `The token may not do this in ${d.repo}.${d.words === '' ? '' : ` ${d.words}`}`,
  },
  forge_not_found: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { repo: string }) => `${d.repo} was not found: it does not exist, or the token has no rights to it.`,
  },
  forge_busy: {
    kind: 'environment',
    http: 503,
    exit: 10,
    message: (d: { host: string; seconds: number }) => `${d.host} asks to wait ${d.seconds} s.`,
    hint: () => 'Promote again later; a repeated promotion ends at the same pull request.',
  },
  forge_unreachable: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { host: string; reason: string }) => `Can't reach ${d.host}: ${d.reason}.`,
    hint: () => 'Promote again later; a repeated promotion ends at the same pull request.',
  },
  forge_refused: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { repo: string; words: string }) => `${d.repo} refused the pull request: ${d.words}`,
  },
} as const satisfies Record<string, Entry>
