/** Paths of git as text: git gives bytes, readers get UTF-8 without control characters. Pure. */
import { cleanLine } from '../view/clean.ts'

/** From bytes that were read as latin1. What is no UTF-8 becomes U+FFFD. */
export function toText(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8')
}

/** Where half a character would remain at its end, U+FFFD does: readers send the path back. */
export function shownPath(latin1: string): string {
  return cleanLine(toText(latin1)).slice(0, PATH_MAX_CHARS).toWellFormed()
}

const PATH_MAX_CHARS = 500
