/** Workspaces: the repositories that the platform clones for a resolver before it runs (spec, workspace_spec; docs/git.md). */
import { count, flag, listOf, nullable, object, type Static, text } from '../schema/schema.ts'

/** A repository of an instance, as it was fixed at its creation. */
export type RepoPlan = Static<typeof repoPlan>

export const repoPlan = object({
  /** The name of its directory in the workspace. */
  name: text(),
  /** The address of the upstream: https://…, http://…, ssh://…, user@host:path or file:///…; without user and password. */
  url: text(),
  /** A branch, a tag or a whole commit id; null for the default branch of the upstream. */
  branch: nullable(text()),
  /** The branch that the resolver begins on. */
  working_branch: text(),
})

/** The workspace of an instance. */
export type WorkspacePlan = Static<typeof workspacePlan>

export const workspacePlan = object({ repos: listOf(repoPlan) })

/** A repository that is cloned. */
export type ClonedRepo = Static<typeof clonedRepo>

export const clonedRepo = object({
  name: text(),
  url: text(),
  branch: nullable(text(), { description: 'The branch or tag that it begins at; null for a commit' }),
  base: nullable(text(), { description: 'The default branch of the upstream; null where it has none' }),
  commit: nullable(text(), {
    description: 'The commit that the working branch begins at; null in an empty repository',
  }),
  working_branch: text(),
  bytes: count({ description: 'The size of the clone' }),
  cached: flag({ description: 'Nothing had to be transferred' }),
  lfs: count({ description: 'Files that are only pointers to Git LFS' }),
  submodules: listOf(text(), { description: 'Directories of submodules, which stay empty' }),
})

/** In config.json: where a resolver finds a repository. */
export interface WorkspaceRepo {
  repo: string
  /** The path of the clone, as the worker sees it. */
  path: string
  /** The address of the upstream. */
  url: string
  /** The default branch of the upstream; null where it has none. */
  base: string | null
  commit: string | null
  working_branch: string
  /** The name of the remote in the clone. */
  remote: string
}
