/** The checkpoint that a run stores for the run that resumes it: `.resolve/checkpoint.json`, which is kept through a pause. */
import { existsSync } from 'node:fs'
import { readRegularFile } from '../../core/files/read-regular-file.ts'
import { CHECKPOINT_FILE } from '../../core/protocol/coordination.ts'
import { replaceFile } from './replace-file.ts'
import { regularAt } from './state-file.ts'

export class Checkpoint {
  readonly #path: string

  constructor(dir: string) {
    this.#path = `${dir}/${CHECKPOINT_FILE}`
  }

  get exists(): boolean {
    return existsSync(this.#path)
  }

  /** Replaces the checkpoint; durable when it returns. Throws the system's error. */
  save(value: unknown): void {
    replaceFile(this.#path, JSON.stringify(value ?? null), true)
  }

  /** The latest checkpoint; undefined where none was saved. */
  load<T = unknown>(): T | undefined {
    if (!this.exists) return undefined
    return (JSON.parse(readRegularFile(this.#path, regularAt(this.#path), { follows: true })) as T | null) ?? undefined
  }
}
