/** The disk part of a worker's usage, for drivers whose workers keep their files on this machine. */
import { bytesBelow, roomAt } from '../files/disk-usage.ts'
import { DISK_SAMPLE_MAX_ENTRIES, DISK_SAMPLE_MS } from '../limits.ts'
import type { Usage } from './worker.ts'

type DiskUsage = Pick<Usage, 'diskBytes' | 'diskFreeBytes' | 'diskTotalBytes'>

/** Reads the free space each time; walks the directory only once per sampling interval. */
export class DiskSample {
  readonly #directory: string
  readonly #intervalMs: number
  #bytes = 0
  #walkedAt = Number.NEGATIVE_INFINITY

  constructor(directory: string, intervalMs = DISK_SAMPLE_MS) {
    this.#directory = directory
    this.#intervalMs = intervalMs
  }

  async sample(): Promise<DiskUsage> {
    const now = performance.now()
    if (now - this.#walkedAt >= this.#intervalMs) {
      this.#walkedAt = now
      this.#bytes = await bytesBelow(this.#directory, DISK_SAMPLE_MAX_ENTRIES)
    }
    const { freeBytes, totalBytes } = await roomAt(this.#directory)
    return { diskBytes: this.#bytes, diskFreeBytes: freeBytes, diskTotalBytes: totalBytes }
  }
}
