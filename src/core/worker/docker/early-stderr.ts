/** Holds the stderr of a container until its host reads it; of a flood, the end. */
import { LOG_EARLY_MAX_BYTES } from '../../limits.ts'
import type { StderrListener } from '../worker.ts'

export class EarlyStderr implements StderrListener {
  #chunks: { bytes: Buffer; start: number }[] = []
  #held = 0
  #skipped = 0

  take(bytes: Buffer, start: number): void {
    // A copy, because the caller may reuse its buffer.
    this.#chunks.push({ bytes: Buffer.from(bytes), start })
    this.#held += bytes.length
    while (this.#held > LOG_EARLY_MAX_BYTES && this.#chunks.length > 1) {
      const { length } = this.#chunks.shift()?.bytes ?? Buffer.alloc(0)
      this.#held -= length
      this.#skipped += length
    }
  }

  skipped(bytes: number): void {
    this.#skipped += bytes
  }

  restarted(): void {
    this.#chunks = []
    this.#held = 0
  }

  pass(listener: StderrListener): void {
    if (this.#skipped > 0) listener.skipped(this.#skipped)
    for (const { bytes, start } of this.#chunks) listener.take(bytes, start)
  }
}
