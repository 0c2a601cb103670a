/**
 * Finds the data file that an address names (threats WEB-7). It reads the raw request target: decoding, resolving or
 * normalising it first would turn an attempt to leave the directory into a request for another file.
 */
import { fail } from '../../core/errors.ts'

/** The parts before the path of the file: "", api, instances, {id}, data. */
const BEFORE = 5

/** A dot, slash, backslash or NUL that is still encoded after one decoding. */
const ENCODED = /%(?:2e|2f|5c|00|25)/i

/** `url` is the request target. Throws `path_refused`. */
export function dataPathOf(url: string): string {
  const raw = url.split('?', 1)[0] as string
  return raw.split('/').slice(BEFORE).map(decodeOnce).join('/')
}

function decodeOnce(segment: string): string {
  const name = decoded(segment)
  const isRefused =
    name === '' || name === '.' || name === '..' || /[/\\\0]/.test(name) || /[\\#]/.test(segment) || ENCODED.test(name)
  if (isRefused) throw fail('path_refused', { path: segment })
  return name
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch (cause) {
    throw fail('path_refused', { path: segment }, { cause })
  }
}
