/** The paths inside a worker's container, and the names and labels of containers (spec, Worker container layout). Pure. */
import { createHash } from 'node:crypto'

/**
 * worker: a resolver during its run. setup: the commands before it, as root, without instance files. inquiry: a resolver that
 * only returns its form and workspace spec, without network or secrets; it ends with its caller. git: the git server of an instance.
 */
export type ContainerRole = 'worker' | 'setup' | 'inquiry' | 'git'

export const PROJECT = '/project'
export const RESOLVE_DIRECTORY = '/project/.resolve'
export const WORKSPACE = '/project/workspace'
/** The resolver's own files, read-only; its command runs here. */
export const SOURCE = '/resolver'
/** The SDK, read-only, for resolvers without node_modules. */
export const SDK = '/usr/local/lib/resolve'
/** The place of dev_source_overrides and bundles. */
export const OPT = '/opt'

/** The user id of the resolver, where the host can choose it. */
export const RESOLVER_UID = 1000

/** The key of a home in labels. It is a digest, so that labels do not show the path of the home. */
export function homeLabel(home: string): string {
  return createHash('sha256').update(home).digest('hex').slice(0, 12)
}

/** The name of the only container of an instance, incarnation and role: the engine refuses to create it twice (reliability F1). */
export function containerName(role: ContainerRole, instance: string, incarnation: number): string {
  return `resolve-${instance}-${role === 'worker' ? incarnation : `${role}-${incarnation}`}`
}

/** A root host gives the resolver a user of its own. Any other host runs it as its own user, so that both can use the files. */
export function workerUser(): { uid: number; gid: number } {
  const uid = process.getuid?.() ?? RESOLVER_UID
  if (uid === 0) return { uid: RESOLVER_UID, gid: RESOLVER_UID }
  return { uid, gid: process.getgid?.() ?? RESOLVER_UID }
}
