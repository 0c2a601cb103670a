/** Reads a small file of the home whose place another kind of file may have taken; the files of secrets, targets and schedules use it. */
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'

/**
 * The text of a regular file. `check` may refuse it by throwing, by what the open file is. Links are not followed, unless `follows`; a FIFO
 * cannot block. Throws what `check` throws, and the system's error, also for a missing file.
 */
export function readRegularFile(
  path: string,
  check: (stat: Stats) => void,
  options: { follows?: boolean } = {},
): string {
  const { follows = false } = options
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | (follows ? 0 : constants.O_NOFOLLOW))
  try {
    check(fstatSync(fd))
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}
