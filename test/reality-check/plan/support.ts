/** Source trees of the tests of the plan: an object of paths and texts, or a directory. */
import type { CheckEnvironment } from '../../../src/core/protocol/check/reality-check.ts'
import { detectPlan } from '../../../src/core/reality-check/plan/plan.ts'
import type { SourceTree } from '../../../src/core/reality-check/plan/source-tree.ts'

export type Files = Record<string, string>

/** The files as a tree; parents are directories. */
export function treeOf(files: Files): SourceTree {
  return {
    read: async (path, maxBytes = Number.POSITIVE_INFINITY) => {
      const text = files[path]
      return text !== undefined && Buffer.byteLength(text) <= maxBytes ? text : undefined
    },
    list: async (directory) => {
      const prefix = directory === '' ? '' : `${directory}/`
      const below = Object.keys(files).filter((path) => path.startsWith(prefix))
      const names = new Map(
        below.map((path) => {
          const [name = '', ...rest] = path.slice(prefix.length).split('/')
          return [name, rest.length === 0 ? ('file' as const) : ('directory' as const)]
        }),
      )
      return [...names].map(([name, kind]) => ({ name, kind }))
    },
  }
}

export const nothingGiven: CheckEnvironment = {
  language: null,
  type: null,
  port: null,
  image: null,
  install: null,
  build: null,
  start: null,
  workdir: null,
  health: null,
  env: {},
  git: false,
  start_seconds: 60,
  network: { build: 'public', run: 'none', egress: [] },
}

export function outcomeOf(files: Files, given: Partial<CheckEnvironment> = {}, options?: { dockerfile?: boolean }) {
  return detectPlan(treeOf(files), { ...nothingGiven, ...given }, options)
}

/** The plan with its needs as `node>=22`; a fault fails the test. */
export async function planOf(files: Files, given: Partial<CheckEnvironment> = {}, options?: { dockerfile?: boolean }) {
  const outcome = await outcomeOf(files, given, options)
  if ('fault' in outcome) throw new Error(outcome.fault)
  return { ...outcome.plan, needs: outcome.needs.map(({ tool, range }) => `${tool}${range}`), paths: outcome.paths }
}

export async function faultOf(files: Files, given: Partial<CheckEnvironment> = {}, options?: { dockerfile?: boolean }) {
  const outcome = await outcomeOf(files, given, options)
  return 'fault' in outcome ? outcome.fault : JSON.stringify(outcome.plan)
}

export const json = (value: unknown) => JSON.stringify(value)
