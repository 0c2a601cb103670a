/** The calls `browser.*` of the host, one after the other. main.ts registers them. */
import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { systemCode } from '../../core/errors.ts'
import {
  VALIDATOR_BROWSER_START_MS,
  VALIDATOR_PAGE_HEIGHT,
  VALIDATOR_PAGE_WIDTH,
  VALIDATOR_TRACE_PIECE_BYTES,
} from '../../core/limits.ts'
import { fieldsOf, limitOf, numberOf, portOf, refuse, textOf, textOrNull } from '../shared/params.ts'
import { Chromium } from './chromium.ts'
import { PageSession, type Place } from './page-session.ts'
import { sentenceOf, stepOf } from './step-text.ts'
import { actOn, carryOut } from './steps.ts'

export class BrowserCalls {
  readonly #chromium = new Chromium()
  #session: PageSession | undefined
  #place: Place | undefined
  #last: Promise<unknown> = Promise.resolve()

  calls(): Record<string, (params: unknown) => Promise<unknown>> {
    return {
      'browser.open': (params) => this.#next(() => this.#open(params)),
      'browser.step': (params) => this.#next(() => this.#step(params)),
      'browser.snapshot': () => this.#next(() => this.#snapshot()),
      'browser.ref': (params) => this.#next(() => this.#ref(params)),
      'browser.close': () => this.#next(() => this.#close()),
      'browser.trace': (params) => this.#next(async () => this.#trace(params)),
    }
  }

  /** Where the browser keeps its files. */
  get directory(): string {
    return this.#chromium.directory
  }

  end(): void {
    this.#chromium.kill()
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work)
    this.#last = next.catch(() => {})
    return next
  }

  async #open(params: unknown): Promise<object> {
    const fields = fieldsOf(params)
    textOf(fields, 'test')
    textOrNull(fields, 'address')
    this.#place = {
      port: portOf(fields),
      width: numberOf(fields, 'width', 200, 4_000, VALIDATOR_PAGE_WIDTH),
      height: numberOf(fields, 'height', 200, 4_000, VALIDATOR_PAGE_HEIGHT),
    }
    await this.#session?.close()
    this.#session = undefined
    await this.#opened()
    return {}
  }

  /** The open session. One that was lost to a page that hangs is replaced by a new one. */
  async #opened(): Promise<PageSession> {
    if (this.#session !== undefined && !this.#session.isLost) return this.#session
    if (this.#place === undefined) throw refuse('no browser is open')
    const browser = await this.#chromium.started()
    const kill = () => this.#chromium.kill()
    this.#session = await PageSession.open(browser, this.#place, this.#chromium.directory, kill)
    return this.#session
  }

  async #step(params: unknown): Promise<unknown> {
    const fields = fieldsOf(params)
    const step = stepOf(fields['step'])
    const limitMs = limitOf(fields)
    const session = await this.#opened()
    return await session.observe(sentenceOf(step), limitMs, (page) => carryOut(page, step, session.origin, limitMs))
  }

  async #snapshot(): Promise<unknown> {
    const { url, title, snapshot } = await (await this.#opened()).look()
    return { url, title, snapshot: snapshot ?? '' }
  }

  async #ref(params: unknown): Promise<unknown> {
    const fields = fieldsOf(params)
    const [ref, verb, value] = [textOf(fields, 'ref'), textOf(fields, 'verb'), textOrNull(fields, 'value')]
    if (!/^(?:f\d+)?e\d+$/.test(ref)) throw refuse('ref is no reference of a snapshot')
    const limitMs = limitOf(fields, VALIDATOR_BROWSER_START_MS / 4)
    const sentence = `${verb.slice(0, 50)} ${ref}${value === null ? '' : ` with ${JSON.stringify(value)}`}`
    return await (await this.#opened()).observe(sentence, limitMs, async (page) => {
      await actOn(page.getByRef(ref), { verb, value: value ?? '' }, limitMs)
      return null
    })
  }

  async #close(): Promise<unknown> {
    const session = this.#session
    this.#session = undefined
    this.#place = undefined
    return (await session?.close()) ?? { screenshot: null, trace_bytes: 0 }
  }

  #trace(params: unknown): { base64: string } {
    const fields = fieldsOf(params)
    const offset = numberOf(fields, 'offset', 0, Number.MAX_SAFE_INTEGER)
    const piece = Buffer.alloc(numberOf(fields, 'length', 1, VALIDATOR_TRACE_PIECE_BYTES))
    let file: number
    try {
      file = openSync(join(this.#chromium.directory, 'trace.zip'), 'r')
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error
      throw refuse('there is no trace')
    }
    try {
      return { base64: piece.subarray(0, readSync(file, piece, 0, piece.length, offset)).toString('base64') }
    } finally {
      closeSync(file)
    }
  }
}
