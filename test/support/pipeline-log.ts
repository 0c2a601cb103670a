/** Places for the logs of pipelines that a test runs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { type Does, type Ran, type RunOptions, runPipeline } from './pipeline-walks.ts'

const place = mkdtempSync(join(tmpdir(), 'resolve-pipeline-'))
afterAll(() => rmSync(place, { recursive: true, force: true }))

let files = 0

/** A free path. */
export function logFile(): string {
  files += 1
  return join(place, `${files}.jsonl`)
}

/** With a log of its own unless one is named. */
export async function run(source: string, does: Does, options: Partial<RunOptions> = {}): Promise<Ran> {
  return await runPipeline(source, does, { file: logFile(), ...options })
}
