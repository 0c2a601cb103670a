/** The clone of an instance and the host's repository of it, for snapshots and differences: hosts and readers look at the same places. */
import { join } from 'node:path'
import { hostRepoPath } from '../git/host-layout.ts'
import type { CreationRecord } from '../protocol/journal.ts'
import type { ClonedRepo } from '../protocol/workspace.ts'
import type { DiffSides } from './diff.ts'
import type { LiveSnapshot, SnapshotWork } from './snapshot.ts'

export interface WorkOwner {
  home: string
  creation: Pick<CreationRecord, 'instance_id' | 'executor'>
  paths: { git: string; project: string }
}

/** The clone of a worker in a container is read in a container. */
export async function snapshotWork(
  { home, creation, paths }: WorkOwner,
  { name, working_branch: workingBranch }: ClonedRepo,
  signal?: AbortSignal,
): Promise<SnapshotWork> {
  const work = {
    path: hostRepoPath(paths.git, name),
    tree: join(paths.project, 'workspace', name),
    workingBranch,
    signal,
  }
  if (creation.executor !== 'docker') return work
  const { readTreeInContainer } = await import('./read-tree-in-container.ts')
  const owner = { home, instance: creation.instance_id, repo: name, directory: paths.git }
  return { ...work, read: readTreeInContainer(owner) }
}

/** `seq`: null for one that has no number. */
export function sidesOf(
  { name, base, working_branch: workingBranch }: ClonedRepo,
  { commit, at, skipped, skipped_total = skipped.length }: LiveSnapshot,
  seq: number | null,
  isLive = false,
): DiffSides {
  return { repo: name, base, workingBranch, head: { commit, at, skipped, skipped_total, seq, live: isLive } }
}
