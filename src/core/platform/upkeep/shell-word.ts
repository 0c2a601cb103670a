/** Quotes a path for a POSIX shell, for the commands that {@link file://./health.ts} suggests. */
export function quote(path: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
