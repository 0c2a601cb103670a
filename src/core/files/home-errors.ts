/**
 * Maps system errors below the home directory to errors of the catalogue. Everything that writes there runs inside {@link
 * inHome}.
 */
import { diskFull, fail, ResolveError, systemCode } from '../errors.ts'

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

/** Runs work that writes below `home`; maps its errors with {@link homeError}. `what` is the subject in `disk_full`. */
export async function inHome<T>(home: string, work: () => Promise<T>, what = home): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw homeError(error, home, what)
  }
}

/** `disk_full` or `home_unusable` for an error of the system; any other error unchanged. */
export function homeError(error: unknown, home: string, what = home): unknown {
  const code = systemCode(error)
  if (error instanceof ResolveError || code === undefined) return error
  const reason = REASONS[code] ?? `the system answered ${code}`
  return diskFull(error, what) ?? fail('home_unusable', { path: home, reason }, { cause: error })
}
