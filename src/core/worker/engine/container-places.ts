/** Where things are inside a worker's container, and how containers are named and told apart (spec, Worker container layout). Pure. */
import { createHash } from 'node:crypto'

/**
 * worker: a resolver at its run. setup: the commands before it, as root, with nothing of the instance in reach.
 * inquiry: a resolver that only answers questions, without network or secrets, gone with whoever asks.
 */
export type ContainerRole = 'worker' | 'setup' | 'inquiry'

export const PROJECT = '/project'
export const RESOLVE_DIRECTORY = '/project/.resolve'
export const WORKSPACE = '/project/workspace'
/** The resolver's own files, read-only; where its command runs. */
export const SOURCE = '/resolver'
/** The SDK, read-only, for resolvers without node_modules. */
export const SDK = '/usr/local/lib/resolve'
/** Where dev_source_overrides and bundles are. */
export const OPT = '/opt'

/** Who the resolver is inside, where the host may choose. */
export const RESOLVER_UID = 1000

/** Stands for a home in labels: what another home's containers are called is nobody's business here. */
export function homeLabel(home: string): string {
  return createHash('sha256').update(home).digest('hex').slice(0, 12)
}

/** One container an instance, incarnation and role: whoever creates it twice is told so by the engine (reliability F1). */
export function containerName(role: ContainerRole, instance: string, incarnation: number): string {
  return `resolve-${instance}-${role === 'worker' ? incarnation : `${role}-${incarnation}`}`
}

/** Root gives the resolver a user of its own. Anybody else can't, and lets it be who the host is, so both can use the files. */
export function workerUser(): { uid: number; gid: number } {
  const uid = process.getuid?.() ?? RESOLVER_UID
  if (uid === 0) return { uid: RESOLVER_UID, gid: RESOLVER_UID }
  return { uid, gid: process.getgid?.() ?? RESOLVER_UID }
}
