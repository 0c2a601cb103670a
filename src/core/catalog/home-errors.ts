/** Maps system errors in the home directory to errors of the catalogue; the catalog's writers call it. */
import { fail, ResolveError, systemCode } from '../errors.ts'

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'it may not be written',
  EPERM: 'it may not be written',
  EROFS: 'it is on a read-only disk',
  ENOTDIR: 'a part of its path is not a directory',
  ELOOP: 'its path has a loop of links',
  ENAMETOOLONG: 'its path is too long',
  EMFILE: 'too many files are open',
  EIO: 'the disk has a fault',
}

/** Runs work that writes below `home`. Throws `disk_full`, `home_unusable` or the work's own error. */
export async function inHome<T>(home: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = systemCode(error)
    if (error instanceof ResolveError || code === undefined) throw error
    if (code === 'ENOSPC' || code === 'EDQUOT') throw fail('disk_full', { path: home }, { cause: error })
    throw fail(
      'home_unusable',
      { path: home, reason: REASONS[code] ?? `the system answered ${code}` },
      { cause: error },
    )
  }
}
