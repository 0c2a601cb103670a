/** The clones of an instance, as a resolver's code reads them. */
import type { InstanceConfig } from '../../core/protocol/instance.ts'

/** A repository that the platform cloned before run(). */
export interface Repository {
  /** The name of its directory in the workspace. */
  readonly name: string
  /** The directory of the clone. */
  readonly path: string
  /** The address of the upstream. */
  readonly url: string
  /** The branch that is checked out: the work goes there. */
  readonly branch: string
  /** The default branch of the upstream; null where it has none. */
  readonly base: string | null
  /** The commit that the work begins at; null in an empty repository. */
  readonly commit: string | null
  /** The name of the remote. */
  readonly remote: string
}

/** Where tools begin to work: the clone where there is one repository, else the directory of all of them. */
export function workingDirectoryOf({
  working_directory: told,
  workspace_path,
  workspace = [],
}: InstanceConfig): string {
  const [only, ...others] = workspace
  return told ?? (only !== undefined && others.length === 0 ? only.path : workspace_path)
}

export function repositoriesOf({ workspace = [] }: InstanceConfig): Repository[] {
  return workspace.map(({ repo, working_branch, ...rest }) => ({ name: repo, branch: working_branch, ...rest }))
}
