/**
 * Which data file an address means (threats WEB-7). It is read as it was sent: everything that decodes, resolves or
 * normalises an address first would turn an attempt to leave the directory into a request for something else.
 */
import { fail } from '../../core/errors.ts'

/** What stands before the path of the file: "", api, instances, {id}, data. */
const BEFORE = 5

/** Still encoded after it was decoded once: a dot, a slash, a backslash, a NUL. */
const ENCODED = /%(?:2e|2f|5c|00|25)/i

/** `url` is the target of the request. Throws `path_refused`. */
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
