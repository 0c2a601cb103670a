/** The repository of a path on this machine, for `check run`: what is committed there is checked. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fail } from '../../core/errors.ts'

const ADDRESS = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/|^git\+|^[^/@\s]+@[^/:\s]+:/

export interface CheckedSoftware {
  address: string
  /** The directory, where it is one of this machine. */
  path: string | null
}

/** Throws `check_invalid` for a path that is no repository. */
export function softwareAt(given: string): CheckedSoftware {
  if (ADDRESS.test(given)) return { address: given, path: null }
  const path = resolve(given)
  if (!existsSync(path) && /^[\w-][\w.-]*\/[\w-][\w./-]*$/.test(given)) return { address: given, path: null }
  if (existsSync(resolve(path, '.git')) || existsSync(resolve(path, 'HEAD'))) return { address: path, path }
  const reason = existsSync(path) ? 'is no git repository: what is committed is checked' : 'does not exist'
  throw fail('check_invalid', { reason: `${given} ${reason}` })
}

/** How many files have changes that are not committed, so that they are not checked. */
export async function uncommittedIn(path: string): Promise<number> {
  const { execa } = await import('execa')
  const done = await execa('git', ['status', '--porcelain', '--untracked-files=normal'], {
    cwd: path,
    reject: false,
    timeout: 10_000,
  })
  return done.failed ? 0 : String(done.stdout).split('\n').filter(Boolean).length
}
