/** The repositories of an instance as files of an export: a bundle and a patch each (docs/on-disk.md, Export). */
import { bundleOf, patchOfWork } from '../../changes/history.ts'
import { openHostRepo } from '../../changes/host-repo.ts'
import { ResolveError } from '../../errors.ts'
import { hostRepoPath } from '../../git/host-layout.ts'
import type { ClonedRepo } from '../../protocol/workspace.ts'

export interface WorkFile {
  path: string
  bytes: number
  content: AsyncIterable<Buffer> | Buffer[]
}

/** `git`: the directory for git of the instance. A repository without a change has no file. */
export async function* exportWork(git: string, repos: readonly ClonedRepo[]): AsyncGenerator<WorkFile> {
  for (const { name } of repos) {
    const path = hostRepoPath(git, name)
    if ((await openHostRepo(path)) === undefined) continue
    const bundle = await orNothing(bundleOf(path, false))
    if (bundle !== undefined) yield { path: `${name}.bundle`, bytes: bundle.bytes, content: bundle.stream }
    const patch = await orNothing(patchOfWork(path))
    // A part of a patch must not look like the whole.
    if (patch === undefined || patch.bytes.length === 0 || patch.isCut) continue
    yield { path: `${name}.patch`, bytes: patch.bytes.length, content: [patch.bytes] }
  }
}

/** An export must not fail because git does. */
async function orNothing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof ResolveError) return undefined
    throw error
  }
}
