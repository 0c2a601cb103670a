/** Starts Chromium when the first page is opened, and ends it. `--no-sandbox` is right only because a container is the sandbox. */
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserType } from 'playwright-core'
import { fail } from '../../core/errors.ts'
import { VALIDATOR_BROWSER_START_MS } from '../../core/limits.ts'
import { killDescendants } from '../shared/own-processes.ts'

const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser']

/** The reason of a test that is missing then; an operator reads it. */
const NO_CHROMIUM =
  'the image of the validator has no Chromium; "resolve worker build --validator" builds an image that has it'

const ARGS = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--disable-gpu',
  '--no-proxy-server',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
]

export class Chromium {
  /** Its profile, caches and traces. */
  readonly directory = mkdtempSync(join(tmpdir(), 'resolve-validator-'))
  #browser: Browser | undefined

  /** Throws `browser_unavailable`. */
  async started(): Promise<Browser> {
    if (this.#browser?.isConnected()) return this.#browser
    const executablePath = process.env['RESOLVE_CHROMIUM'] || PROGRAMS.find((path) => existsSync(path))
    if (executablePath === undefined) throw fail('browser_unavailable', { reason: NO_CHROMIUM })
    try {
      // Its package is beside this program in dist/: a container mounts dist/ alone.
      const { default: playwright } = (await import(new URL('./playwright/index.js', import.meta.url).href)) as {
        default: { chromium: BrowserType }
      }
      this.#browser = await playwright.chromium.launch({
        executablePath,
        args: ARGS,
        timeout: VALIDATOR_BROWSER_START_MS,
        handleSIGHUP: false,
        handleSIGINT: false,
        handleSIGTERM: false,
        env: { ...process.env, HOME: this.directory, XDG_CONFIG_HOME: this.directory, XDG_CACHE_HOME: this.directory },
      })
      return this.#browser
    } catch (error) {
      this.kill()
      const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
      throw fail('browser_unavailable', { reason: reason.replace(/[.:]$/, '').slice(0, 500) })
    }
  }

  /** Ends it and all pages at once, also one that no longer answers. The next page starts it anew. */
  kill(): void {
    this.#browser = undefined
    killDescendants()
  }
}
