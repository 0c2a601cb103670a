/** What the catalogue of errors says of each of them. */

/** user: the caller can fix it. environment: a problem of the machine. bug: a defect in resolve. */
export type ErrorKind = 'user' | 'environment' | 'bug'

export interface Entry {
  kind: ErrorKind
  /** The HTTP status of the error response (R7). */
  http: number
  /** The exit code of the command line. */
  exit: number
  message: (details: never) => string
  /** The message over HTTP, if the normal one names a path or a program of the server's machine (R7). */
  outside?: (details: never) => string
  /** The hint for callers on other machines, where `hint` has a path or a program. */
  outsideHint?: (details: never) => string
  hint?: (details: never) => string
}

/** The hint, or the name that was probably meant. */
export function meantOr(nearest: string | undefined, hint: string): string {
  return nearest === undefined ? hint : `Did you mean "${nearest}"?`
}
