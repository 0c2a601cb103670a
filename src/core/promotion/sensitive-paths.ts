/** Which files of a repository run, or decide, with the rights of its forge: a pull request that changes them needs a person. Pure. */

const PATTERNS: readonly RegExp[] = [
  /^\.github\/(?:workflows|actions)(?:\/|$)/,
  /^\.github\/dependabot\.ya?ml$/,
  // A link or a submodule in the place of a directory.
  /^\.(?:github|gitlab|gitea|forgejo|circleci|woodpecker|buildkite)$/,
  /^\.gitlab-ci[^/]*\.ya?ml$/,
  /^\.gitlab\/ci\//,
  /^\.(?:gitea|forgejo|circleci|woodpecker|buildkite)\//,
  /^\.(?:woodpecker|drone|travis)\.ya?ml$/,
  /(?:^|\/)azure-pipelines[^/]*\.ya?ml$/,
  /^\.azure-pipelines\//,
  /^bitbucket-pipelines\.ya?ml$/,
  /^jenkinsfile$/,
  /^(?:\.github\/|\.gitlab\/|\.gitea\/|\.bitbucket\/|docs\/)?codeowners$/,
  /^\.gitmodules$/,
]

/** `paths`: from the root of the repository. */
export function sensitivePaths(paths: readonly string[]): string[] {
  return paths.filter((path) => PATTERNS.some((pattern) => pattern.test(path.toLowerCase())))
}
