/** How the host fetches into a bare repository of its own. */

/** Of submodules nothing; no side file, and no clean-up that goes on after the command. */
export const FETCH = [
  'fetch',
  '--no-recurse-submodules',
  '--no-write-fetch-head',
  '--no-auto-gc',
  '--no-write-commit-graph',
] as const
/** Exactly the refs that are named, without a word. */
export const FETCH_QUIETLY = [...FETCH, '--quiet', '--no-tags'] as const

export const ALL_BRANCHES_AND_TAGS = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'] as const
