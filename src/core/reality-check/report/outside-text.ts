/** Text from outside, made fit for a report: without control characters, within a limit. Called by every form of the report. */

import { CHECK_REPORT_ENTRIES_MAX, CHECK_REPORT_ENTRY_MAX_BYTES } from '../../limits.ts'
import type { CheckResult, TestResult } from '../../protocol/check/reality-check.ts'

/** Control characters, what XML forbids, and marks that turn the direction of writing. Tabs and line feeds stay. */
const UNFIT =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufeff\ufffe\uffff]/g
const CUT_OFF = ' … (cut off)'

/** The beginning of a text, on several lines where it has them. */
export function fitText(text: string, maxBytes = CHECK_REPORT_ENTRY_MAX_BYTES): string {
  const clean = cleaned(text.slice(0, maxBytes + 1))
  if (text.length <= maxBytes && Buffer.byteLength(clean) <= maxBytes) return clean
  return firstBytes(clean, maxBytes - Buffer.byteLength(CUT_OFF)) + CUT_OFF
}

/** On one line. */
export function fitLine(text: string, maxBytes = CHECK_REPORT_ENTRY_MAX_BYTES): string {
  return fitText(text, maxBytes).replace(/\s+/g, ' ').trim()
}

/** The end of a log. Most logs have colours, which are taken out whole. */
export function fitEnd(log: string, maxBytes: number): string {
  const recent = log.slice(-2 * maxBytes).replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
  const bytes = Buffer.from(cleaned(recent))
  if (recent.length === log.length && bytes.length <= maxBytes) return bytes.toString().trimEnd()
  let from = Math.max(0, bytes.length - maxBytes)
  while (from < bytes.length && ((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1
  return `… (begins earlier)\n${bytes.subarray(from).toString().trimEnd()}`
}

/** What a report says of a test: the reason, then the evidence. Each is within its limit. */
export function evidenceOf(test: TestResult): string[] {
  const shown = test.evidence.slice(0, CHECK_REPORT_ENTRIES_MAX).map((one) => fitText(one))
  const more = test.evidence.length - shown.length
  return more === 0 ? shown : [...shown, `… and ${more} more`]
}

/** Failed tests first, as a reader looks for them. */
export function testsOf({ report }: CheckResult): TestResult[] {
  return [...report.failures, ...report.missing, ...report.passed]
}

/** `830 ms`, `4.2 s`, `3 min 5 s`. */
export function durationText(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return '–'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** The parts from the first on that fit into a number of bytes, and how many do not. */
export function withinBytes(parts: Iterable<string>, count: number, maxBytes: number): { text: string; left: number } {
  const taken: string[] = []
  let bytes = 0
  for (const part of parts) {
    bytes += Buffer.byteLength(part)
    if (bytes > maxBytes) break
    taken.push(part)
  }
  return { text: taken.join(''), left: count - taken.length }
}

function cleaned(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n')
    .replace(UNFIT, '\ufffd')
}

function firstBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  let end = Math.min(bytes.length, maxBytes)
  while (end > 0 && end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.subarray(0, end).toString()
}
