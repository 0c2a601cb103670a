/** Carries out one step of a browser test on a page. page-session.ts bounds its time. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Locator, Page } from 'playwright-core'
import { VALIDATOR_LOAD_MS, VALIDATOR_POLL_MS } from '../../core/limits.ts'
import type { BrowserStep, BrowserTarget } from '../../core/protocol/check/reality-check.ts'
import { checkedPath, refuse } from '../shared/params.ts'

type Role = Parameters<Page['getByRole']>[0]

/** What was wrong, as a sentence; null where nothing was. Throws the errors of Playwright. */
export async function carryOut(page: Page, step: BrowserStep, origin: string, limitMs: number): Promise<string | null> {
  const deadline = performance.now() + limitMs
  switch (step.verb) {
    case 'goto':
      await page.goto(origin + checkedPath(step.path), { timeout: limitMs, waitUntil: 'domcontentloaded' })
      // A page may load without end, as one with an event stream does.
      await page.waitForLoadState('load', { timeout: Math.min(limitMs, VALIDATOR_LOAD_MS) }).catch(() => {})
      return null
    case 'wait':
      await pause(Math.min(step.seconds * 1000, limitMs))
      return null
    case 'expect_page':
      return await until(deadline, async () => pageFault(step, page.url(), await page.title()))
    case 'expect':
      return await until(deadline, () => targetFault(step, page))
    case 'press':
      if (step.target === null) await page.keyboard.press(step.key)
      else await act(page, step.target, deadline, (found, timeout) => found.press(step.key, { timeout }))
      return null
    default:
      await act(page, step.target, deadline, (found, timeout) => actOn(found, step, timeout))
      return null
  }
}

/** Carries out a verb on an element. */
export async function actOn(
  found: Locator,
  step: { verb: string; value?: string; key?: string },
  timeout: number,
): Promise<void> {
  const value = step.value ?? ''
  if (step.verb === 'click') await found.click({ timeout })
  else if (step.verb === 'check') await found.check({ timeout })
  else if (step.verb === 'uncheck') await found.uncheck({ timeout })
  else if (step.verb === 'hover') await found.hover({ timeout })
  else if (step.verb === 'fill') await found.fill(value, { timeout })
  else if (step.verb === 'select') await found.selectOption(value, { timeout })
  else if (step.verb === 'press') await found.press(value, { timeout })
  else throw refuse(`there is no verb ${step.verb.slice(0, 50)}`)
}

/** Where several elements have the name as a part of theirs, the one that has exactly this name is meant. */
async function act(
  page: Page,
  target: BrowserTarget,
  deadline: number,
  action: (found: Locator, timeout: number) => Promise<void>,
): Promise<void> {
  try {
    await action(located(page, target, false), left(deadline))
  } catch (error) {
    const isSeveral = error instanceof Error && error.message.includes('strict mode violation')
    if (!isSeveral || (await located(page, target, true).count()) !== 1) throw error
    await action(located(page, target, true), left(deadline))
  }
}

function left(deadline: number): number {
  return Math.max(1, Math.ceil(deadline - performance.now()))
}

function located(page: Page, target: BrowserTarget, exact: boolean): Locator {
  if ('role' in target) {
    const options = target.name === undefined ? {} : { name: target.name, exact }
    return page.getByRole(target.role as Role, options)
  }
  if ('label' in target) return page.getByLabel(target.label, { exact })
  if ('text' in target) return page.getByText(target.text, { exact })
  if ('placeholder' in target) return page.getByPlaceholder(target.placeholder, { exact })
  if ('test_id' in target) return page.getByTestId(target.test_id)
  return page.locator(`css=${target.css}`)
}

/** Looks again till there is no fault, or the time is over. */
async function until(deadline: number, look: () => Promise<string | null>): Promise<string | null> {
  for (;;) {
    const fault = await look()
    if (fault === null || performance.now() + VALIDATOR_POLL_MS >= deadline) return fault
    await pause(VALIDATOR_POLL_MS)
  }
}

type Expected = Extract<BrowserStep, { verb: 'expect' }>
type ExpectedPage = Extract<BrowserStep, { verb: 'expect_page' }>

async function targetFault({ target, state, count, value }: Expected, page: Page): Promise<string | null> {
  const seen = located(page, target, false).filter({ visible: true })
  const number = await seen.count()
  if (count !== null) return number === count ? null : `${number} are visible, not ${count}`
  if (state === 'hidden') return number === 0 ? null : `${number} are visible`
  if (number === 0) return 'It is not visible'
  if (value === null) return null
  const values = await Promise.all((await seen.all()).map((one) => one.inputValue({ timeout: VALIDATOR_LOAD_MS })))
  return values.includes(value) ? null : `Its value is ${JSON.stringify(values[0])}`
}

/** A `url` that begins with "/" is the path, with or without query and fragment; any other is a part of the address. */
function pageFault({ url, title }: ExpectedPage, at: string, titled: string): string | null {
  if (url !== null && !isAt(url, at)) return `The address is ${at}`
  return title === null || titled.includes(title) ? null : `The title is ${JSON.stringify(titled)}`
}

function isAt(url: string, at: string): boolean {
  if (!url.startsWith('/') || !URL.canParse(at)) return at.includes(url)
  const { pathname, search, hash } = new URL(at)
  return [pathname, pathname + search, pathname + search + hash].includes(url)
}
