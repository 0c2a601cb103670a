/** Reads prepared answers for `--answers F`: `{"<request id or glob>": {field: value}}`. */
import { isObject } from '../../core/primitives/is-object.ts'
import { nearest } from '../../core/primitives/nearest.ts'
import type { Payload } from '../../core/protocol/form.ts'
import { usage } from '../output/command-error.ts'
import { matchesGlob } from './glob.ts'
import { readJsonObject } from './input-flags.ts'

export interface Answers {
  /** The payload for a request. An exact id takes precedence over globs, an earlier glob over later ones. */
  forRequest(requestId: string): Payload | undefined
  /** The entries that have matched no request so far, as written in the file. */
  unmatched(): string[]
  /** The entry without a match that is nearly the id of this request: probably misspelt. */
  meantFor(requestId: string): string | undefined
  /** The name of the file; '' if no file was given. */
  where: string
}

export const NO_ANSWERS: Answers = toAnswers({}, '')

export async function readAnswers(path: string): Promise<Answers> {
  return toAnswers(await readJsonObject(path), path === '-' ? 'stdin' : path)
}

export function toAnswers(given: Record<string, unknown>, where: string): Answers {
  const rules = Object.entries(given).map(([glob, payload]) => {
    if (!isObject(payload)) {
      throw usage(`"${glob}" in ${where} is not a JSON object; write {"gate*": {"field": "value"}}.`)
    }
    return { glob, payload: payload as Payload }
  })
  const matched = new Set<string>()
  const unmatched = () => rules.map(({ glob }) => glob).filter((glob) => !matched.has(glob))
  return {
    where,
    unmatched,
    forRequest(requestId) {
      for (const { glob } of rules) if (matchesGlob(requestId, glob)) matched.add(glob)
      const rule =
        rules.find(({ glob }) => glob === requestId) ?? rules.find(({ glob }) => matchesGlob(requestId, glob))
      if (rule !== undefined) matched.add(rule.glob)
      return rule?.payload
    },
    meantFor: (requestId) => unmatched().find((glob) => isNearly(requestId, glob)),
  }
}

/** Whether the glob, but for the star at its end, is nearly the id or its beginning. */
function isNearly(requestId: string, glob: string): boolean {
  const literal = glob.replace(/\*+$/, '')
  const [id, word] = [requestId.toLowerCase(), literal.toLowerCase()]
  if (word === '') return false
  if (id === word || nearest(id, [word]) !== undefined) return true
  const start = id.slice(0, word.length)
  return glob !== literal && (start === word || nearest(start, [word]) !== undefined)
}
