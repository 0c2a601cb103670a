/** The directory of one check: its request, plan, observations, pictures and report (docs/reality-check.md, Files). Only the host writes it. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeWholeSync } from '../../files/write-whole.ts'
import type { CheckResult, Observation } from '../../protocol/check/reality-check.ts'

const REQUEST = 'request.json'
const RESULT = 'result.json'
const ATTEMPTS = 'attempts.json'

export class CheckFiles {
  readonly directory: string
  readonly #paths: string[] = []
  #observations = 0

  constructor(directory: string) {
    this.directory = directory
  }

  /** The clone of the software. */
  get sources(): string {
    return join(this.directory, 'sources')
  }

  get paths(): readonly string[] {
    return this.#paths
  }

  /** False where the check was asked for before. */
  begin(request: unknown): boolean {
    if (this.request() !== undefined) return false
    mkdirSync(this.directory, { recursive: true, mode: 0o700 })
    writeWholeSync(join(this.directory, REQUEST), JSON.stringify(request))
    return true
  }

  request(): unknown {
    return readJson(join(this.directory, REQUEST))
  }

  /** How often a host has begun it, with this time. */
  countAttempt(): number {
    const before = readJson(join(this.directory, ATTEMPTS))
    const attempts = typeof before === 'number' ? before + 1 : 1
    writeWholeSync(join(this.directory, ATTEMPTS), String(attempts))
    for (const name of ['sources', 'observations', 'screenshots', 'traces'])
      rmSync(join(this.directory, name), { recursive: true, force: true })
    return attempts
  }

  write(path: string, content: string | Uint8Array): string {
    mkdirSync(join(this.directory, path, '..'), { recursive: true, mode: 0o700 })
    writeWholeSync(join(this.directory, path), content)
    if (!this.#paths.includes(path)) this.#paths.push(path)
    return path
  }

  observe(observation: Observation): string {
    this.#observations += 1
    return this.write(`observations/${String(this.#observations).padStart(4, '0')}.json`, JSON.stringify(observation))
  }

  finish(result: CheckResult): void {
    rmSync(this.sources, { recursive: true, force: true })
    writeWholeSync(join(this.directory, RESULT), JSON.stringify(result))
  }

  /** The check begins anew where it is asked for again. */
  forget(): void {
    for (const name of [RESULT, ATTEMPTS]) rmSync(join(this.directory, name), { force: true })
  }

  /** Our own file: its shape is known. */
  result(): CheckResult | undefined {
    return readJson(join(this.directory, RESULT)) as CheckResult | undefined
  }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
