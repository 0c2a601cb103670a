/** The LLM sessions of an instance in the page: what they used, and what one did, live (docs/sessions.md). */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import { findings } from './findings.ts'
import {
  callerOf,
  createInstance,
  newToken,
  openContext,
  type Server,
  signedIn,
  startServer,
  untilStatus,
} from './stand.ts'
import { describePage } from './support.ts'

const HOSTILE = '<img src=x onerror=document.title=1> \u001b[31mred\u001b[0m \u202e'

/** Writes what the SDK would write, so that the page is shown each kind of line, and text that a model could be made to say. */
const speaks = plainResolver(
  `const dir = root + '/sessions/'
  const lines = {}
  const write = (session, type, fields) => {
    fs.mkdirSync(dir + session, { recursive: true })
    lines[session] = (lines[session] ?? 0) + 1
    fs.appendFileSync(dir + session + '/transcript.jsonl', JSON.stringify({ seq: lines[session], at: new Date().toISOString(), type, turn: 1, ...fields }) + '\\n')
  }
  const usage = { input_tokens: 12345, cache_read_tokens: 0, cache_write_tokens: 0, output_tokens: 67 }
  const about = (id, parent) => ({ session_id: id, session_name: id, turn: 1, model: 'scripted/x.json', kind: 'scripted', ...parent })
  const ends = { success: true, duration_seconds: 2, steps: 1, usage, cost_usd: null }
  me.emit('resolver:session_dispatched', about('work'))
  write('work', 'session', { name: 'work', model: 'scripted/x.json', kind: 'scripted', tools: ['shell'] })
  write('work', 'prompt', { text: 'Look at ' + me.params.text })
  write('work', 'step', { step: 1, text: 'I look.', finish: 'tool-calls', usage, cost_usd: 0.0123, calls: [{ id: 'c0', tool: 'gone', input: { wanted: 'by it' } }] })
  write('work', 'tool_result', { call: 'c0', tool: 'gone', output: 'There is no tool', is_error: true, duration_ms: 0 })
  write('work', 'tool_call', { call: 'c1', tool: 'shell', input: { command: 'cat ' + me.params.text } })
  me.emit('resolver:session_dispatched', about('work.c2', { parent_id: 'work' }))
  write('work.c2', 'prompt', { text: 'A task of its own' })
  write('work.c2', 'failure', { error: { code: 'session_refused', detail: 'The model refused.' }, duration_ms: 5 })
  me.emit('resolver:session_completed', { ...about('work.c2', { parent_id: 'work' }), ...ends, success: false, error: { code: 'session_refused', detail: 'The model refused.' } })
  await me.ask('go', 'Go on?')
  write('work', 'tool_result', { call: 'c1', tool: 'shell', output: 'found ' + me.params.text + 'x'.repeat(20000) + ' the end', is_error: false, duration_ms: 12 })
  write('work', 'guardian', { rule: 'repeat', action: 'refused', detail: 'the same call' })
  write('work', 'retry', { attempt: 1, wait_ms: 10, reason: 'status 529', status: 529 })
  write('work', 'answer', { output: 'All done.', duration_ms: 2000 })
  me.emit('resolver:session_completed', { ...about('work'), ...ends })
  await me.ask('end', 'End?')
  me.finish({ status: 'completed' })`,
  { name: 'speaks' },
)

const ENTRIES = 4_500

/** A session with more entries than the page holds, and its price. */
const long = plainResolver(
  `fs.mkdirSync(root + '/sessions/work', { recursive: true })
  const at = new Date().toISOString()
  const line = (seq) => JSON.stringify({ seq, at, type: 'prompt', turn: 1, text: 'Prompt ' + seq + '.' }) + '\\n'
  fs.writeFileSync(root + '/sessions/work/transcript.jsonl', Array.from({ length: ${ENTRIES} }, (_, index) => line(index + 1)).join(''))
  const about = { session_id: 'work', session_name: 'work', turn: 1, model: 'anthropic/claude', kind: 'live' }
  const usage = { input_tokens: 1200, cache_read_tokens: 0, cache_write_tokens: 0, output_tokens: 34 }
  me.emit('resolver:session_dispatched', about)
  me.emit('resolver:session_completed', { ...about, success: true, duration_seconds: 2, steps: 1, usage, cost_usd: 0.25 })
  me.finish({ status: 'completed' })`,
  { name: 'long' },
)

const none = plainResolver(`me.finish({ status: 'completed' })`, { name: 'none' })

describePage('the page: LLM sessions', () => {
  let server: Server

  beforeAll(async () => {
    server = await startServer([speaks, long, none])
  })

  afterAll(() => server.close())

  // verifies: S-SESS-01 S-SESS-04
  test('a session is followed while it runs; tools are folded; text is text', { timeout: 90_000 }, async () => {
    const token = await newToken(server.home)
    const call = callerOf(server, token)
    const made = async (resolver: string) =>
      (await call<{ instance_id: string }>('POST', '/instances', { resolver, input: { text: HOSTILE } })).instance_id
    const id = await made('speaks')
    const { context, complaints } = await openContext()
    const page = await signedIn(context, server, token)
    const asked: string[] = []
    page.on('request', (request) => {
      const url = new URL(request.url())
      if (url.pathname.split('/').slice(-2).join() === 'work,transcript')
        asked.push(url.searchParams.get('after') ?? '')
    })
    await page.goto(`${server.url}/instances/${id}`)
    await page.getByRole('tab', { name: 'Sessions' }).click()
    const row = (name: string) => page.locator(`[data-row="${name}"]`)
    await row('work.c2').waitFor()
    expect(await row('work.c2').textContent()).toContain('failed')

    // By the keyboard alone.
    await row('work').getByRole('button').focus()
    await page.keyboard.press('Enter')
    const shown = page.locator('[data-session="work"]')
    await shown.getByText('Scripted model: its answers were written in advance').waitFor()
    await shown.getByText('Look at <img').waitFor()
    await shown.getByText('{"wanted":"by it"}').first().waitFor()
    const tool = shown.locator('details').filter({ hasText: 'shell' })
    await expect.poll(() => tool.getAttribute('data-state')).toBe('no result yet')
    expect(await tool.getByText('found').isVisible()).toBe(false)
    await tool.locator('summary').focus()
    await page.keyboard.press('Enter')
    await tool.getByRole('heading', { name: 'Input' }).waitFor()

    // Nothing is asked for while nothing is new.
    await page.waitForTimeout(2_500)
    expect(new Set(asked).size).toBe(asked.length)

    await call('POST', `/instances/${id}/input-requests/go`, {})
    await shown.getByText('All done.').waitFor()
    // The next question moves what stands below it: a click that is under way would miss.
    await page.getByText('End?').first().waitFor()
    // What the reader had opened stays open.
    await tool.getByText('found <img').waitFor()
    expect(await tool.getAttribute('data-state')).toBe('done')
    expect(await tool.getByText('the end').count()).toBe(0)
    await tool.getByRole('button', { name: /^Show all 20,\d+ characters$/ }).click()
    await tool.getByText('the end').waitFor()
    await shown.getByText('Guardian: refused the same call').waitFor()
    await shown.getByText('Step 1: 12,345 tokens in, 67 out, $0.0123').waitFor()
    await expect.poll(() => row('work').textContent()).toContain('completed')
    expect(await row('work').textContent()).toContain('unknown')
    expect(await page.title()).not.toBe('1')

    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme })
      expect(await findings(page)).toEqual([])
    }
    await page.setViewportSize({ width: 320, height: 700 })
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)

    const other = await made('none')
    await page.goto(`${server.url}/instances/${other}/sessions`)
    await page.getByText('This run opened no sessions.').waitFor()
    await page.getByRole('tab', { name: 'Events' }).click()
    await page.getByRole('tab', { name: 'Sessions' }).waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
    await context.close()
  })

  test('older entries of a long transcript are loaded on request; the header tells what the run cost', {
    timeout: 60_000,
  }, async () => {
    const token = await newToken(server.home)
    const call = callerOf(server, token)
    const id = await createInstance(call, 'long')
    await untilStatus(call, id, 'completed')
    const { context, complaints } = await openContext()
    const page = await signedIn(context, server, token)
    await page.goto(`${server.url}/instances/${id}/sessions`)
    const entries = page.locator('[data-entry]')
    await page.getByText(`${(ENTRIES - 2_000).toLocaleString('en')} older entries are not shown.`).waitFor()
    expect(await entries.count()).toBe(2_000)
    await page.getByRole('button', { name: 'Show 2,000 older entries' }).click()
    await page.getByRole('button', { name: 'Show 500 older entries' }).click()
    await expect.poll(() => entries.count()).toBe(ENTRIES)
    expect(await entries.first().textContent()).toContain('Prompt 1.')
    expect(await entries.nth(2_499).textContent()).toContain('Prompt 2500.')
    expect(await page.locator('[data-spent]').textContent()).toBe('1234 tokens, about $0.25')
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(complaints).toEqual([])
    await context.close()
  })
})
