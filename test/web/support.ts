/** How the tests of the page begin and end. */
import { afterAll, describe } from 'vitest'
import { CHROMIUM, closeBrowser, hasChromium } from './stand.ts'

/** Skips the whole file, with one visible line, where there is no browser. */
export function describePage(title: string, body: () => void): void {
  if (!hasChromium) process.stderr.write(`${title}: skipped, there is no ${CHROMIUM} (install chromium).\n`)
  describe.skipIf(!hasChromium)(title, body)
}

afterAll(closeBrowser)
