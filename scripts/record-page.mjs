/**
 * Takes screenshots of every screen of the page into docs/screens, wide and narrow, light and dark: `node
 * scripts/record-page.mjs [name…]`. Needs a build and chromium. The screens are those of the accessibility test ({@link
 * file://./../test/web/stage.ts}).
 */
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fails, pipeline, scenes, setStage } from '../test/web/stage.ts'
import { callerOf, closeBrowser, newToken, openContext, signedIn, startServer } from '../test/web/stand.ts'

const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), 'docs', 'screens')
const LOOKS = [
  { look: '1280', options: { viewport: { width: 1280, height: 860 }, colorScheme: 'light' } },
  { look: '1280-dark', options: { viewport: { width: 1280, height: 860 }, colorScheme: 'dark' } },
  { look: '320', options: { viewport: { width: 320, height: 690 }, colorScheme: 'light' } },
]

const wanted = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const server = await startServer([pipeline, fails])
try {
  const stage = await setStage(callerOf(server, await newToken(server.home)))
  const all = scenes(stage).filter(({ name }) => wanted.length === 0 || wanted.includes(name))
  for (const { look, options } of LOOKS) {
    const { context } = await openContext(options)
    const stranger = await context.newPage()
    await stranger.goto(server.url)
    await stranger.getByLabel('Access token').waitFor()
    if (wanted.length === 0) await stranger.screenshot({ path: join(folder, `sign-in-${look}.png`) })
    await stranger.close()
    const page = await signedIn(context, server)
    for (const { name, path, ready } of all) {
      await page.goto(server.url + path)
      await ready(page)
      await page.waitForTimeout(400)
      await page.screenshot({ path: join(folder, `${name}-${look}.png`) })
    }
    await context.close()
  }
} finally {
  await closeBrowser()
  await server.close()
}
