/** Paths of a repository as they are told to people: cleaned, each once, and not too many. Pure. */
import { PROMOTION_PATHS_MAX } from '../limits.ts'
import { cleanLine } from '../view/clean.ts'

/** For an answer: the first PROMOTION_PATHS_MAX. */
export function pathsTold(paths: readonly string[]): string[] {
  const clean = new Set(paths.map((path) => cleanLine(path)).filter((path) => path !== ''))
  return [...clean].slice(0, PROMOTION_PATHS_MAX)
}

/** For a sentence. */
export function fewPaths(paths: readonly string[]): string[] {
  return paths.length <= 5 ? [...paths] : [...paths.slice(0, 5), `${paths.length - 5} more`]
}
