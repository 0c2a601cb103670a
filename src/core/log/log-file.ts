/**
 * The files of an instance's log and the format of their lines (docs/on-disk.md, The log). `log` grows up to a limit and then
 * becomes `log.1`, in place of the one before.
 */
import * as fs from 'node:fs'
import type { LogLine } from '../protocol/log.ts'

/** Up to where the output of a worker is in the log. It is in each line, so that the next host continues exactly there. */
export interface LogCursor {
  incarnation: number
  /** Offsets in the output of this incarnation. */
  stdout: number
  stderr: number
}

export interface KeptLogLine extends LogLine {
  cursor: LogCursor
}

export function olderLog(path: string): string {
  return `${path}.1`
}

/** Number and time come first, so that a reader finds a line without parsing the others. */
export function formatLogLine({ n, at, source, level, text, cursor }: KeptLogLine): string {
  const { incarnation, stdout, stderr } = cursor
  return `${JSON.stringify({ n, at, source, ...(level === null ? {} : { level }), text, c: [incarnation, stdout, stderr] })}\n`
}

/** Undefined for a damaged line. */
export function parseLogLine(text: string): KeptLogLine | undefined {
  try {
    const { n, at, source, level = null, text: said, c } = JSON.parse(text) as LogLine & { c: number[] }
    if (typeof n !== 'number' || typeof at !== 'string' || typeof said !== 'string') return undefined
    const [incarnation = 0, stdout = 0, stderr = 0] = c
    return { n, at, source, level, text: said, cursor: { incarnation, stdout, stderr } }
  } catch {
    return undefined
  }
}

/** The number and the time of the line that begins with these bytes. */
export function headOf(line: string): { n: number; at: string } | undefined {
  const [, n, at] = /^\{"n":(\d+),"at":"([^"]*)"/.exec(line) ?? []
  return n === undefined || at === undefined ? undefined : { n: Number(n), at }
}

/** Undefined where there is no such file. */
export function openLog(path: string): { fd: number; stat: fs.Stats } | undefined {
  try {
    const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK)
    return { fd, stat: fs.fstatSync(fd) }
  } catch {
    return undefined
  }
}

export function readAt(fd: number, from: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(Math.max(0, bytes))
  return buffer.subarray(0, fs.readSync(fd, buffer, 0, buffer.length, from))
}
