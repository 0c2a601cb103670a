/** The words with which a forge refuses, from the forms of all forges; without secrets and control characters. Pure. */
import { isObject } from '../primitives/is-object.ts'
import { cleanLine } from '../view/clean.ts'

const WORDS_MAX_CHARS = 400
const PARTS_MAX = 8

/** `secrets`: left out wherever they appear. Empty where the answer says nothing. */
export function wordsOf(body: unknown, secrets: readonly string[]): string {
  const parts = [...new Set(collect(body, 0))].slice(0, PARTS_MAX)
  const text = parts.map((part) => cleanLine(part)).filter((part) => part !== '')
  return hideSecrets(text.join(' '), secrets).slice(0, WORDS_MAX_CHARS).trim()
}

/** A line without secrets: the given ones, and what follows the name of a header that carries one. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret !== '')
    .reduce((rest, secret) => rest.replaceAll(secret, '…'), text)
    .replace(/(:\/\/)[^/\s@]*@/g, '$1…@')
    .replace(/\b(authorization|bearer|private-token)\b\s*[:=]?\s*\S+/gi, '$1 …')
}

/**
 * GitHub `{message, errors: [{message}]}`, GitLab `{message: string | string[] | {field: string[]}, error_description}`, Gitea
 * `{message}`, Bitbucket `{error: {message, detail}}`, Bitbucket Server `{errors: [{message}]}`, Azure `{message}`.
 */
function collect(value: unknown, depth: number): string[] {
  if (typeof value === 'string') return [value]
  if (depth > 3) return []
  if (Array.isArray(value)) return value.slice(0, PARTS_MAX).flatMap((one) => collect(one, depth + 1))
  if (!isObject(value)) return []
  const named = ['message', 'error', 'error_description', 'detail', 'errors'].flatMap((name) =>
    collect(value[name], depth + 1),
  )
  if (named.length > 0 || depth === 0) return named
  return Object.entries(value)
    .slice(0, PARTS_MAX)
    .flatMap(([field, inner]) => collect(inner, depth + 1).map((text) => `${field} ${text}`))
}
