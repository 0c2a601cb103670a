/**
 * The catalogue of errors: code → kind, HTTP status, exit code, message and hint. All deliberate errors are made by {@link fail}.
 * A test compares the catalogue with docs/errors.md.
 */
import type { Entry, ErrorKind } from './errors/entry.ts'
import { gitErrors } from './errors/git.ts'
import { homeErrors } from './errors/home.ts'
import { httpErrors } from './errors/http.ts'
import { instanceErrors } from './errors/instance.ts'
import { pipelineErrors } from './errors/pipeline.ts'
import { resolverErrors } from './errors/resolver.ts'
import { sdkErrors } from './errors/sdk.ts'
import { sessionErrors } from './errors/sessions.ts'
import { settingsErrors } from './errors/settings.ts'
import { usageErrors } from './errors/usage.ts'
import { validatorErrors } from './errors/validator.ts'
import { workerErrors } from './errors/worker.ts'

export type { ErrorKind } from './errors/entry.ts'

const catalogue = {
  ...usageErrors,
  ...resolverErrors,
  ...instanceErrors,
  ...homeErrors,
  ...gitErrors,
  ...sdkErrors,
  ...sessionErrors,
  ...pipelineErrors,
  ...httpErrors,
  ...settingsErrors,
  ...workerErrors,
  ...validatorErrors,
  bug: {
    kind: 'bug',
    http: 500,
    exit: 70,
    message: (d: { what: string }) => `Internal error in resolve: ${d.what}`,
    outside: () => 'Internal error of the server; see its log.',
    hint: () => 'The report below has the details.',
  },
} as const satisfies Record<string, Entry>

export type ErrorCode = keyof typeof catalogue

export const ERROR_CODES = Object.keys(catalogue) as ErrorCode[]

type DetailsOf<C extends ErrorCode> = Parameters<(typeof catalogue)[C]['message']>[0]

interface Said {
  message: string
  /** The message over HTTP, if it differs. */
  outside: string | undefined
  hint: string | undefined
}

/** An error of the catalogue. `errors` has all messages if there are several (a form, a manifest). */
export class ResolveError extends Error {
  readonly code: ErrorCode
  readonly kind: ErrorKind
  readonly httpStatus: number
  readonly exitCode: number
  readonly hint: string | undefined
  /** The hint for callers on other machines. */
  readonly outsideHint: string | undefined
  /** The message for callers on other machines: without paths, programs or stderr (R7). */
  readonly outside: string
  readonly errors: readonly string[]
  /** The same messages with the form field each belongs to. */
  readonly fields: readonly { id: string; message: string }[]
  readonly details: Readonly<Record<string, unknown>>

  /** `said` is the message that another process sent; its details are not available here. */
  constructor(code: ErrorCode, details: Record<string, unknown>, cause?: unknown, said?: Said) {
    const entry: Entry = catalogue[code]
    super(said?.message ?? entry.message(details as never), cause === undefined ? undefined : { cause })
    this.name = 'ResolveError'
    this.code = code
    this.kind = entry.kind
    this.httpStatus = entry.http
    this.exitCode = entry.exit
    this.hint = said === undefined ? entry.hint?.(details as never) : said.hint
    this.outsideHint = (said === undefined ? entry.outsideHint?.(details as never) : undefined) ?? this.hint
    this.outside =
      said === undefined ? (entry.outside?.(details as never) ?? this.message) : (said.outside ?? this.message)
    this.details = details
    this.errors = Array.isArray(details['errors']) ? (details['errors'] as string[]) : []
    this.fields = Array.isArray(details['fields']) ? (details['fields'] as { id: string; message: string }[]) : []
  }
}

/** Creates (does not throw) an error of the catalogue: `throw fail('instance_unknown', {id})`. */
export function fail<C extends ErrorCode>(code: C, details: DetailsOf<C>, options?: { cause?: unknown }): ResolveError {
  return new ResolveError(code, details as Record<string, unknown>, options?.cause)
}

/** Converts the error response of a server; undefined if its code is not in the catalogue. */
export function received(body: unknown): ResolveError | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { detail, code, hint, outside, errors } = body as Record<string, unknown>
  if (typeof detail !== 'string') return undefined
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
  const said = { message: detail, hint: text(hint), outside: text(outside) }
  if (Array.isArray(errors) && code === undefined) {
    if (!errors.every((one) => typeof one === 'string')) return undefined
    return new ResolveError('form_invalid', { errors }, undefined, said)
  }
  if (typeof code !== 'string' || !Object.hasOwn(catalogue, code)) return undefined
  return new ResolveError(code as ErrorCode, {}, undefined, said)
}

/** Kind, HTTP status and exit code of an error code: for the docs test and the HTTP schema. */
export function describeError(code: ErrorCode): { kind: ErrorKind; http: number; exit: number } {
  const { kind, http, exit } = catalogue[code]
  return { kind, http, exit }
}

/** The `code` of a system error (`ENOENT`, `ENOSPC`); undefined for any other, also for one of the catalogue, whose code is ours. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof ResolveError) return undefined
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** Whether the operation failed because this process has too few file descriptors or too little memory. */
export function isScarcity(thrown: unknown): boolean {
  const code = systemCode(thrown)
  return code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM' || code === 'EAGAIN'
}

/** Whether a write failed because the disk or a quota is full: the same write succeeds once there is space. */
export function isDiskFull(thrown: unknown): boolean {
  const code = systemCode(thrown)
  return code === 'ENOSPC' || code === 'EDQUOT' || (thrown instanceof ResolveError && thrown.code === 'disk_full')
}

/** Whether the same call may succeed a moment later: the disk is full now, or this process has too few file descriptors or too little memory. */
export function passesWithTime(thrown: unknown): boolean {
  return isScarcity(thrown) || isDiskFull(thrown)
}

/** The `disk_full` of a write that failed because the disk, a quota or the size of a file is at its limit; undefined for any other error. */
export function diskFull(thrown: unknown, path: string): ResolveError | undefined {
  const isFull = isDiskFull(thrown) || systemCode(thrown) === 'EFBIG'
  return isFull ? fail('disk_full', { path }, { cause: thrown }) : undefined
}

/** Converts an error of the file system (full, read-only, broken) to an error of the catalogue; undefined for other errors. */
export function diskTrouble(thrown: unknown, path: string): ResolveError | undefined {
  switch (systemCode(thrown)) {
    case 'EROFS':
      return fail('home_unusable', { path, reason: 'its file system is read-only' }, { cause: thrown })
    case 'EIO':
      return fail('home_unusable', { path, reason: 'its disk has a fault' }, { cause: thrown })
    default:
      return diskFull(thrown, path)
  }
}
