/**
 * What `steer` said and the model was not told yet: in a file of the session, so that a pause or a kill in between loses nothing. The
 * transcript tells up to which number it was given. {@link file://./../session.ts} opens it, the loop takes from it.
 */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { fail, systemCode } from '../../core/errors.ts'
import { SESSION_PROMPT_MAX_BYTES, SESSION_STEERING_MAX_BYTES } from '../../core/limits.ts'
import { jsonObjectIn } from '../../core/primitives/json-object.ts'
import type { Transcript } from './transcript.ts'

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = fs.constants

export interface Said {
  number: number
  text: string
}

export class Steering {
  readonly #path: string
  readonly #transcript: Transcript
  /** Keys of calls that were taken: a call that is made again says nothing new. */
  readonly #keys = new Set<string>()
  #pending: Said[] = []
  #last: number

  constructor(transcript: Transcript) {
    this.#path = join(transcript.directory, STEERING_FILE)
    this.#transcript = transcript
    this.#last = transcript.history.steered
    this.#readBack()
  }

  /** Throws `input_too_large`. */
  say(text: string, key?: string): void {
    if (key !== undefined && this.#keys.has(key)) return
    const said = { number: this.#last + 1, text: this.#transcript.redactor.text(text) }
    const line = `${JSON.stringify({ ...said, ...(key === undefined ? {} : { key }) })}\n`
    refuseAbove('text', Buffer.byteLength(text), SESSION_PROMPT_MAX_BYTES)
    const waiting = this.#waiting()
    const bytes = waiting.reduce((sum, one) => sum + Buffer.byteLength(one.text), Buffer.byteLength(line))
    refuseAbove('text that waits for the next step', bytes, SESSION_STEERING_MAX_BYTES)
    this.#pending = [...waiting, said]
    this.#last = said.number
    if (key !== undefined) this.#keys.add(key)
    this.#write(line, waiting.length === 0)
  }

  /** The next that the model was not told; undefined where there is none. It is told when the transcript has it. */
  next(): Said | undefined {
    this.#pending = this.#waiting()
    return this.#pending[0]
  }

  #waiting(): Said[] {
    return this.#pending.filter(({ number }) => number > this.#transcript.history.steered)
  }

  /** The file begins anew where all that it has was given. */
  #write(line: string, isAlone: boolean): void {
    try {
      const how = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | (isAlone ? O_TRUNC : O_APPEND)
      const fd = fs.openSync(this.#path, how, 0o600)
      try {
        if (!fs.fstatSync(fd).isFile()) return
        // A line that a kill has torn is ended first.
        fs.writeSync(fd, `${isAlone ? '' : '\n'}${line}`)
        fs.fdatasyncSync(fd)
      } finally {
        fs.closeSync(fd)
      }
    } catch (error) {
      // On a full disk, or where a command of the session has put something else there, it lasts as long as this process.
      if (systemCode(error) === undefined) throw error
    }
  }

  #readBack(): void {
    for (const line of this.#text().split('\n')) {
      const { number, text, key } = jsonObjectIn(line)
      if (!Number.isSafeInteger(number) || typeof text !== 'string') continue
      if (typeof key === 'string') this.#keys.add(key)
      if (Number(number) <= this.#last) continue
      this.#last = Number(number)
      this.#pending.push({ number: this.#last, text })
    }
  }

  #text(): string {
    try {
      const fd = fs.openSync(this.#path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      try {
        const stat = fs.fstatSync(fd)
        return stat.isFile() && stat.size <= 2 * SESSION_STEERING_MAX_BYTES ? fs.readFileSync(fd, 'utf8') : ''
      } finally {
        fs.closeSync(fd)
      }
    } catch {
      return ''
    }
  }
}

const STEERING_FILE = 'steering.jsonl'

function refuseAbove(what: string, bytes: number, limit: number): void {
  if (bytes > limit) throw fail('input_too_large', { what, bytes, limit })
}
