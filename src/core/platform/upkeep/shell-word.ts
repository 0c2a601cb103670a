/** A path as a POSIX shell needs it, for the commands that {@link file://./health.ts} names. */
export function quote(path: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
