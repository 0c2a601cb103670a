/** Reads prepared answers for `--answers F`: `{"<request id or glob>": {field: value}}`. */
import { isObject } from '../../core/primitives/is-object.ts'
import type { Payload } from '../../core/protocol/form.ts'
import { usage } from '../output/command-error.ts'
import { matchesGlob } from './glob.ts'
import { readJsonObject } from './input-flags.ts'

export interface Answers {
  /** The payload for a request. An exact id takes precedence over globs, an earlier glob over later ones. */
  forRequest(requestId: string): Payload | undefined
}

export const NO_ANSWERS: Answers = { forRequest: () => undefined }

export async function readAnswers(path: string): Promise<Answers> {
  return toAnswers(await readJsonObject(path), path)
}

export function toAnswers(given: Record<string, unknown>, where: string): Answers {
  const rules = Object.entries(given).map(([glob, payload]) => {
    if (!isObject(payload)) {
      throw usage(`"${glob}" in ${where} is not a JSON object; write {"gate*": {"field": "value"}}.`)
    }
    return { glob, payload: payload as Payload }
  })
  return {
    forRequest: (requestId) =>
      (rules.find(({ glob }) => glob === requestId) ?? rules.find(({ glob }) => matchesGlob(requestId, glob)))?.payload,
  }
}
