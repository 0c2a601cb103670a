/** What we read of an answer is what the makers of each API promise: this file compiles. */
import type { MergeRequestSchema } from '@gitbeaker/core'
import type { components } from '@octokit/openapi-types'
import type { PullRequest } from 'gitea-js'
import { expect, test } from 'vitest'
import type { giteaPull } from '../../src/core/forge/gitea.ts'
import { githubPull } from '../../src/core/forge/github.ts'
import type { gitlabMerge } from '../../src/core/forge/gitlab.ts'
import type { Static } from '../../src/core/schema/schema.ts'

type GithubPull = components['schemas']['pull-request'] | components['schemas']['pull-request-simple']
type Read<S> = S extends typeof githubPull | typeof gitlabMerge | typeof giteaPull ? Static<S> : never

// gitea-js says of no field that it is always there; gitbeaker's schemas lack `null` for projects that are gone.
type Present<T> = T extends (infer U)[]
  ? Present<U>[]
  : T extends object
    ? { [K in keyof T]-?: Present<NonNullable<T[K]>> }
    : T

const fromGithub = (pull: GithubPull): Read<typeof githubPull> => pull as Omit<GithubPull, 'draft'> & { draft: boolean }
const fromGitlab = (merge: MergeRequestSchema): Omit<Read<typeof gitlabMerge>, 'description'> => merge
const fromGitea = (pull: Present<PullRequest>): Read<typeof giteaPull> => pull

test('answers of GitHub, GitLab and Gitea have the fields that are read', () => {
  expect([fromGithub, fromGitlab, fromGitea]).toHaveLength(3)
  expect(githubPull['required']).toContain('html_url')
})
