/** Holds that page and terminal tell one story: for recorded journals both show the same status, lines, questions and end. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { progressLine } from '../../src/core/view/event-words.ts'
import { statusText } from '../../src/core/view/status-words.ts'
import type { Story } from '../../src/core/view/story.ts'
import { durationText } from '../../src/core/view/time-words.ts'
import { root } from '../house/source-files.ts'
import { eventsOf, storyOf } from '../support/instances.ts'
import { fails, pipeline, type Stage, setStage } from './stage.ts'
import {
  type Caller,
  callerOf,
  newToken,
  openContext,
  type Server,
  signedIn,
  startServer,
  untilStatus,
} from './stand.ts'
import { describePage } from './support.ts'

const LIMIT = 90_000

describePage('the page: one story', () => {
  let server: Server
  let stage: Stage
  let call: Caller

  beforeAll(async () => {
    server = await startServer([pipeline, fails])
    call = callerOf(server, await newToken(server.home))
    stage = await setStage(call)
    // Recorded: nothing may be added while the two are compared.
    await call('DELETE', `/instances/${stage.piped}`)
    await untilStatus(call, stage.piped, 'cancelled')
  }, LIMIT)
  afterAll(() => server.close())

  function terminal(...words: string[]): string {
    const env = { ...process.env, RESOLVE_HOME: server.home, NO_COLOR: '1' }
    return execFileSync(process.execPath, [join(root, 'bin', 'run.js'), ...words], { env, encoding: 'utf8' })
  }

  test(
    'page and terminal tell the same story of recorded journals',
    async () => {
      const { context } = await openContext({ viewport: { width: 1280, height: 4_000 } })
      const page = await signedIn(context, server)
      for (const id of Object.values(stage) as string[]) {
        const story: Story = storyOf(server.home, id)
        const events = eventsOf(server.home, id)
        await page.goto(`${server.url}/instances/${id}/timeline`)
        await page.getByText(new RegExp(`^${events.length} events?$`)).waitFor()
        await page.evaluate('document.querySelector(".timeline-box").style.height = "3500px"')

        const told = events.map(({ event }) => progressLine(event)).filter((line) => line !== null)
        const missing = async () => {
          const shown = await page.locator('.event-text').allTextContents()
          return told.filter((line) => !shown.includes(line))
        }
        // The rows are drawn once the larger box has been measured.
        await expect.poll(missing).toEqual([])

        const mark = page.locator('.instance-line .status')
        const markText = async () => {
          const [shape, word] = [await mark.locator('.status-shape').textContent(), await mark.textContent()]
          return `${shape} ${word?.slice(shape?.length)}`
        }
        await expect.poll(markText).toBe(statusText(story.status))
        // The command line says the same word of the same instance.
        expect(terminal('instance', 'show', id)).toContain(statusText(story.status))

        const questions = () =>
          page
            .locator('section[data-request-id]')
            .evaluateAll((cards) => cards.map((card) => (card as HTMLElement).dataset['requestId']))
        await expect
          .poll(questions)
          .toEqual(story.requests.filter((one) => one.status === 'pending').map((one) => one.id))
        await page.goto(`${server.url}/instances/${id}/overview`)
        const history = () =>
          page
            .locator('.history li')
            .evaluateAll((items) => items.map((item) => (item as HTMLElement).dataset['status']))
        await expect.poll(history).toEqual(story.history.map((change) => change.status))
        if (story.output !== null) await page.getByText(story.output, { exact: true }).first().waitFor()
        if (story.error !== null)
          await page.locator(`[data-error="${story.error.code}"]`).getByText(story.error.detail).waitFor()
        if (story.endedAt !== null) {
          const took = durationText(Date.parse(story.endedAt) - Date.parse(story.creation.created_at))
          await page.locator('.elapsed').getByText(took).waitFor()
        }
      }
      await context.close()
    },
    LIMIT,
  )

  test(
    'the story that the page reduces from the stream equals that of the server',
    async () => {
      const { context } = await openContext()
      const page = await signedIn(context, server)
      for (const id of Object.values(stage) as string[]) {
        const told = await call<Story>('GET', `/instances/${id}/story`)
        const lines = terminal('instance', 'events', id, '--jsonl').trim().split('\n')
        await page.goto(`${server.url}/instances/${id}/raw`)
        const text = page.getByRole('region', { name: 'The last events, a line each' })
        await expect.poll(async () => (await text.textContent())?.split('\n').length).toBe(told.lastSeq)
        const shown = ((await text.textContent()) ?? '')
          .split('\n')
          .map((line) => JSON.parse(line.slice(line.indexOf('\t') + 1)) as unknown)
        expect(shown).toEqual(lines.map((line) => JSON.parse(line) as unknown))
      }
      await context.close()
    },
    LIMIT,
  )
})
