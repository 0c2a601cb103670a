/** Runs calls of tools in a session whose model is scripted: one call a step, through everything that a real call passes. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionOptions } from '../../src/sessions/contract/contract.ts'
import { type Arena, arena } from './arena.ts'

export interface Told {
  output: string
  isError: boolean
}

export type Asked = readonly [tool: string, input: Record<string, unknown>]

export interface Bench {
  at: Arena
  /** The results of these calls, each in a step of its own, in a session that is new. */
  run(calls: readonly Asked[], options?: SessionOptions): Promise<Told[]>
}

export function bench(): Bench {
  const at = arena({ model: '', base_url: '' }, '')
  let sessions = 0
  return {
    at,
    async run(calls, options = {}) {
      sessions += 1
      const name = `s${sessions}`
      const turns = [...calls.map(([tool, input]) => ({ calls: [{ tool, input }] })), { text: 'Done.' }]
      const script = join(at.config.project_path, `${name}.json`)
      writeFileSync(script, JSON.stringify({ sessions: { [name]: turns } }))
      const session = await at.create(name, { model: `scripted/${script}`, ...options })
      await session.run('Go.')
      return at.linesOf(name, 'tool_result').map(({ output, is_error }) => ({ output, isError: is_error }))
    },
  }
}
