/** The log of an instance: what its worker printed and logged, line by line, with times (docs/on-disk.md, The log). */
import { count, flag, listOf, named, nullable, object, oneOf, type Static, text, time } from '../schema/schema.ts'

/** `resolver`: sent as resolver.log; `stdout`: lines that are no JSON-RPC frames; `platform`: notes of the host about the log itself. */
export const LOG_SOURCES = ['resolver', 'stdout', 'stderr', 'platform'] as const

export type LogSource = (typeof LOG_SOURCES)[number]

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

export type LogLine = Static<typeof logLine>

export const logLine = named(
  'LogLine',
  object({
    n: count({ description: 'Its number: 1 for the first line of the instance, without gaps' }),
    at: time(),
    source: oneOf(LOG_SOURCES),
    level: nullable(oneOf(LOG_LEVELS), { description: 'Only for lines of the source resolver' }),
    text: text({ description: 'As the worker wrote it, with secrets redacted; it may have control characters' }),
  }),
)

export type LogPage = Static<typeof logPage>

export const logPage = named(
  'LogPage',
  object({
    lines: listOf(logLine),
    next: count({ description: 'The number to continue after' }),
    ended: flag({ description: 'The instance has ended, and no line comes after these' }),
  }),
)
