/** The browser context of one test: its pages, what they print, and its trace. The calls of browser.ts end here. */
import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import {
  VALIDATOR_BROWSER_START_MS,
  VALIDATOR_CLOSE_MS,
  VALIDATOR_CONSOLE_LINE_MAX_BYTES,
  VALIDATOR_CONSOLE_LINES,
  VALIDATOR_LOOK_MS,
  VALIDATOR_PAGES_MAX,
  VALIDATOR_PICTURE_MAX_BYTES,
  VALIDATOR_SNAPSHOT_MAX_BYTES,
  VALIDATOR_TEXT_MAX_BYTES,
  VALIDATOR_TRACE_MAX_BYTES,
  VALIDATOR_TRACE_SAVE_MS,
} from '../../core/limits.ts'
import { beginningOf } from '../../core/primitives/beginning-of.ts'
import { within } from '../../core/primitives/within.ts'
import type { Observation } from '../../core/protocol/check/reality-check.ts'

type BrowserObservation = Extract<Observation, { kind: 'browser' }>

export interface Place {
  port: number
  width: number
  height: number
}

export class PageSession {
  readonly origin: string
  readonly #context: BrowserContext
  readonly #trace: string
  readonly #kill: () => void
  #console: string[] = []
  #isLost = false

  private constructor(context: BrowserContext, port: number, trace: string, kill: () => void) {
    this.origin = `http://localhost:${port}`
    this.#context = context
    this.#trace = trace
    this.#kill = kill
  }

  static async open(browser: Browser, { port, width, height }: Place, directory: string, kill: () => void) {
    const trace = join(directory, 'trace.zip')
    rmSync(trace, { force: true })
    const context = await browser.newContext({
      viewport: { width, height },
      serviceWorkers: 'block',
      acceptDownloads: false,
    })
    const session = new PageSession(context, port, trace, kill)
    context.setDefaultTimeout(VALIDATOR_BROWSER_START_MS)
    context.on('page', (page) => session.#watch(page))
    const isOwn = (url: URL) =>
      ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname) && url.port === (port === 80 ? '' : `${port}`)
    await context.route(
      (url) => !isOwn(url),
      (route) => route.abort('blockedbyclient'),
    )
    await context.routeWebSocket(
      (url) => !isOwn(url),
      (socket) => void socket.close(),
    )
    await context.tracing.start({ screenshots: true, snapshots: true })
    await context.newPage()
    return session
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** The page that was opened last, as a person sees it. */
  get page(): Page {
    return this.#context.pages().at(-1) as Page
  }

  /** Carries out `work` and tells what is seen then. It answers within the limit and VALIDATOR_LOOK_MS + VALIDATOR_TRACE_SAVE_MS. */
  async observe(
    sentence: string,
    limitMs: number,
    work: (page: Page) => Promise<string | null>,
  ): Promise<BrowserObservation> {
    const began = performance.now()
    const late = `It took more than ${limitMs} ms`
    const trial = this.#tried(work).catch((error: unknown) => faultOf(error))
    const error = (await within(
      limitMs + 100,
      trial.then((fault) => ({ fault })),
    )) ?? { fault: late }
    const seen = await this.look()
    const observation: BrowserObservation = {
      kind: 'browser',
      step: beginningOf(sentence, VALIDATOR_TEXT_MAX_BYTES),
      error: error.fault === null ? null : beginningOf(error.fault, VALIDATOR_TEXT_MAX_BYTES),
      url: seen.url,
      title: seen.title,
      snapshot: seen.snapshot ?? '',
      console: this.#console,
      duration_ms: Math.round(performance.now() - began),
    }
    this.#console = []
    if (error.fault !== null && seen.snapshot === null) await this.#giveUp()
    return observation
  }

  /** Address, title and accessible tree. `snapshot` is null where the page does not answer. */
  async look(): Promise<{ url: string; title: string; snapshot: string | null }> {
    const page = this.#context.pages().at(-1)
    if (page === undefined) return { url: '', title: '', snapshot: '' }
    const looks = [page.title(), page.ariaSnapshot({ mode: 'ai', timeout: VALIDATOR_LOOK_MS })]
    const [title, snapshot] = await Promise.all(
      looks.map((one) =>
        within(
          VALIDATOR_LOOK_MS,
          one.catch(() => undefined),
        ),
      ),
    )
    return {
      url: beginningOf(page.url(), VALIDATOR_TEXT_MAX_BYTES),
      title: beginningOf(title ?? '', VALIDATOR_TEXT_MAX_BYTES),
      snapshot: snapshot === undefined ? null : beginningOf(snapshot, VALIDATOR_SNAPSHOT_MAX_BYTES),
    }
  }

  async close(): Promise<{ screenshot: string | null; trace_bytes: number }> {
    if (this.#isLost) return { screenshot: null, trace_bytes: this.#traceBytes() }
    const picture = this.#context.pages().at(-1)?.screenshot({ timeout: VALIDATOR_CLOSE_MS, animations: 'disabled' })
    const bytes = await within(
      VALIDATOR_CLOSE_MS,
      Promise.resolve(picture).catch(() => undefined),
    )
    await this.#saveTrace(VALIDATOR_CLOSE_MS)
    const closed = this.#context.close().then(() => true)
    if (
      (await within(
        VALIDATOR_CLOSE_MS,
        closed.catch(() => false),
      )) !== true
    )
      this.#kill()
    const isKept = bytes !== undefined && bytes.length <= VALIDATOR_PICTURE_MAX_BYTES
    return { screenshot: isKept ? bytes.toString('base64') : null, trace_bytes: this.#traceBytes() }
  }

  /** Its errors become rejections, also those of a session without a page. */
  async #tried(work: (page: Page) => Promise<string | null>): Promise<string | null> {
    return await work(this.page)
  }

  #watch(page: Page): void {
    if (this.#context.pages().length > VALIDATOR_PAGES_MAX) {
      void page.close().catch(() => {})
      return
    }
    page.on('dialog', (dialog) => void dialog.dismiss().catch(() => {}))
    page.on('console', (message) => this.#note(`${message.type()}: ${message.text()}`))
    page.on('pageerror', (error) => this.#note(`uncaught: ${error}`))
  }

  #note(line: string): void {
    if (this.#console.length < VALIDATOR_CONSOLE_LINES)
      this.#console.push(beginningOf(line.slice(0, VALIDATOR_CONSOLE_LINE_MAX_BYTES), VALIDATOR_CONSOLE_LINE_MAX_BYTES))
  }

  /** The page hangs. What the trace has is kept, and Chromium is ended. */
  async #giveUp(): Promise<void> {
    this.#isLost = true
    await this.#saveTrace(VALIDATOR_TRACE_SAVE_MS)
    this.#kill()
  }

  async #saveTrace(limitMs: number): Promise<void> {
    await within(
      limitMs,
      this.#context.tracing.stop({ path: this.#trace }).catch(() => {}),
    )
  }

  #traceBytes(): number {
    const bytes = existsSync(this.#trace) ? statSync(this.#trace).size : 0
    if (bytes <= VALIDATOR_TRACE_MAX_BYTES) return bytes
    rmSync(this.#trace, { force: true })
    return 0
  }
}

/** The first lines of what Playwright says, without the colours of a terminal. */
function faultOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replace(/\u001b\[[0-9;]*m/g, '').trim()
}
