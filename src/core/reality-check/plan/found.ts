/** What an ecosystem's detection gives to the plan, and how it says that the request has to give more. */
import type { CheckPlan, SoftwareType } from '../../protocol/check/reality-check.ts'

/** A tool that the room must have, with a range of versions: `>=22`, or `*`. */
export interface ToolNeed {
  tool: string
  range: string
}

export interface Found
  extends Pick<CheckPlan, 'language' | 'fetch' | 'install' | 'build' | 'start' | 'port' | 'env' | 'because'> {
  /** null: nothing says what it is, and nothing of it can be started. */
  type: SoftwareType | null
  needs: ToolNeed[]
  /** Directories below the sources where programs of the software and of its packages are; first in PATH. */
  paths: string[]
}

/** What is known before anything is found. */
export function nothingFound(language: Found['language'], because: string[]): Found {
  return {
    language,
    type: null,
    fetch: null,
    install: null,
    build: null,
    start: null,
    port: null,
    env: {},
    because,
    needs: [],
    paths: [],
  }
}

/** The request or the sources lack something; the message says what to give. It ends the detection. */
export class PlanFault extends Error {}

/** The lower bound of a range of versions as `>=1.2`; undefined where it has none. Upper bounds are advice of an author, not a demand. */
export function atLeast(range: unknown): string | undefined {
  if (typeof range !== 'string' || range.length > 200) return undefined
  const bounds = range
    .split('||')
    .map((part) => /(?:^|[\s,^~=v]|>=?)\s*(\d+(?:\.\d+){0,2})/.exec(withoutUpper(part))?.[1])
  if (bounds.some((bound) => bound === undefined)) return undefined
  const lowest = (bounds as string[]).sort(byVersion)[0]
  return lowest === undefined ? undefined : `>=${lowest}`
}

function withoutUpper(part: string): string {
  return part.trim().replace(/<=?\s*v?[\d.x*]+|!=\s*[\d.*]+/g, ' ')
}

function byVersion(a: string, b: string): number {
  const [left, right] = [a.split('.').map(Number), b.split('.').map(Number)]
  for (let at = 0; at < 3; at += 1) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

export const need = (tool: string, range: unknown): ToolNeed => ({ tool, range: atLeast(range) ?? '*' })
