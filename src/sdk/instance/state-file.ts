/** The state snapshot: replaced as a whole, so that a reader never sees a part of it (spec, State snapshot). */
import type { Stats } from 'node:fs'
import { fail } from '../../core/errors.ts'
import { readRegularFile } from '../../core/files/read-regular-file.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import { replaceFile } from './replace-file.ts'
import type { RetryingDisk } from './retry-while-disk-full.ts'

export type State = Record<string, unknown>

export class StateFile {
  readonly #path: string
  readonly #disk: RetryingDisk
  readonly #written: () => void
  #latest: State

  constructor(path: string, disk: RetryingDisk, written: () => void) {
    this.#path = path
    this.#disk = disk
    this.#written = written
    this.#latest = readJsonObject(path) ?? {}
  }

  /** The content of the file, or what it will hold once the disk has room. */
  get current(): State {
    if (!this.#disk.isFull) this.#latest = readJsonObject(this.#path) ?? {}
    return this.#latest
  }

  /** Overwrites the state: keys not given are lost (spec, update_state). */
  update(state: State): void {
    const text = JSON.stringify(state)
    this.#latest = JSON.parse(text) as State
    this.#disk.do(() => {
      replaceFile(this.#path, text)
      this.#written()
    })
  }

  /** Overlays the keys given (spec, merge_state). */
  merge(state: State): void {
    this.update({ ...this.current, ...state })
  }
}

/** The object in a JSON file; undefined where there is no file or no object in it. A program of the instance may have put a FIFO there: it can't block. */
export function readJsonObject(path: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(readRegularFile(path, regularAt(path), { follows: true }))
    return isObject(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** A check that throws `coordination_tampered` for a FIFO, a device or a directory. */
export function regularAt(path: string): (stat: Stats) => void {
  return (stat) => {
    if (!stat.isFile()) throw fail('coordination_tampered', { path, reason: 'it is no regular file' })
  }
}
