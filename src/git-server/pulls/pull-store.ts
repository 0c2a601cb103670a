/** The file `pulls.jsonl` and the state that follows from it. Changes happen one after the other; each is synced before it counts. */
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { GIT_SERVER_LOG_MAX_BYTES } from '../../core/limits.ts'
import { Refusal } from '../repository/refusal.ts'
import { PullBook, type PullLine } from './pull-lines.ts'

/** A line without its time, which the store adds. */
export type NewLine = PullLine extends infer L ? (L extends PullLine ? Omit<L, 'at'> : never) : never

export class PullStore {
  readonly path: string
  readonly book = new PullBook()
  /** Called after each line that is on the disk. */
  onLine: () => void = () => {}
  #file: FileHandle
  #bytes: number
  #last: Promise<unknown> = Promise.resolve()

  private constructor(path: string, file: FileHandle, bytes: number) {
    this.path = path
    this.#file = file
    this.#bytes = bytes
  }

  /** A line that a kill cut short was not answered: it is removed. A line that cannot be read is skipped. */
  static async open(path: string): Promise<PullStore> {
    const text = readWholeLines(path)
    const store = new PullStore(path, await open(path, 'a', 0o600), Buffer.byteLength(text))
    for (const line of text.split('\n')) {
      const parsed = parseLine(line)
      if (parsed !== undefined) store.book.apply(parsed)
    }
    return store
  }

  /** How much of the file is on the disk. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Decides with the state as it is when its turn comes, then appends. `decide` throws to refuse, and returns undefined where nothing is
   * to change.
   */
  change<T extends NewLine>(decide: (book: PullBook) => T | undefined): Promise<T | undefined> {
    const turn = this.#last.then(async () => {
      const line = decide(this.book)
      if (line === undefined) return undefined
      await this.#append({ ...line, at: new Date().toISOString() } as PullLine)
      return line
    })
    this.#last = turn.catch(() => {})
    return turn
  }

  async #append(line: PullLine): Promise<void> {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
    if (this.#bytes + bytes.length > GIT_SERVER_LOG_MAX_BYTES)
      throw new Refusal(507, `pull requests, comments and statuses take ${GIT_SERVER_LOG_MAX_BYTES} bytes: no more fit`)
    try {
      await this.#file.writeFile(bytes)
      await this.#file.datasync()
    } catch (error) {
      // Half a line would spoil the next one.
      await this.#file.truncate(this.#bytes).catch(() => {})
      throw new Refusal(507, `the line cannot be written: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`)
    }
    this.#bytes += bytes.length
    this.book.apply(line)
    this.onLine()
  }

  async close(): Promise<void> {
    await this.#last
    await this.#file.close()
  }
}

function readWholeLines(path: string): string {
  const fd = openSync(path, 'a+', 0o600)
  try {
    if (fstatSync(fd).size === 0) return ''
    const text = readFileSync(path)
    const end = text.lastIndexOf('\n') + 1
    if (end < text.length) {
      ftruncateSync(fd, end)
      fsyncSync(fd)
    }
    return text.toString('utf8', 0, end)
  } finally {
    closeSync(fd)
  }
}

function parseLine(line: string): PullLine | undefined {
  try {
    const value = JSON.parse(line) as PullLine | null
    return typeof value === 'object' && value !== null && typeof value.repo === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
