/** Which names of branches and tags may be passed to git. Allows less than `git check-ref-format`. Pure. */
import { REPO_REF_MAX_CHARS } from '../limits.ts'

/** Why the name is refused; null where it may be used. */
export function branchFault(name: string): string | null {
  if (name === '') return 'it is empty'
  if (name.length > REPO_REF_MAX_CHARS) return `it is longer than ${REPO_REF_MAX_CHARS} characters`
  // The characters that git refuses, and every control and format character.
  if (/[\p{C}\s~^:?*[\\]/u.test(name)) return 'it has a character that branch names must not have'
  if (name.startsWith('-')) return 'it begins with "-"'
  if (name === '@' || name.includes('@{')) return '"@" stands for something else in git'
  if (name === 'HEAD' || name.startsWith('refs/')) return 'it must be a short name'
  if (name.includes('..') || name.endsWith('.')) return 'it has dots where branch names must not have them'
  const isBad = (part: string) => part === '' || part.startsWith('.') || part.endsWith('.lock')
  if (name.split('/').some(isBad)) return 'a part between its slashes is no name'
  return null
}

/** A commit by its whole id: 40 hex digits, or 64 in repositories with SHA-256. */
export function isCommitId(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text)
}

/** The object format of a repository, from a whole id of one of its commits. */
export function formatOf(commit: string): 'sha1' | 'sha256' {
  return commit.length === 64 ? 'sha256' : 'sha1'
}
