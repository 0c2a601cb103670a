/** The validator's browser on real pages, hostile ones included. */
import { existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { CHROMIUM } from '../web/stand.ts'
import { describePage } from '../web/support.ts'
import { served, startValidator, type Validator } from './program.ts'

interface Seen {
  step: string
  error: string | null
  url: string
  title: string
  snapshot: string
  console: string[]
}

const NOTES = `<title>Notes</title><label>New note <input id=n></label><button onclick="l.innerHTML+='<li>'+n.value;console.log('added')">Add</button>
<button>Add all</button><ul id=l></ul><img src="http://example.org/x.png" onerror="document.title='Notes without'">`

async function opened(
  html: string,
): Promise<{ at: Validator; step: (step: object, timeoutMs?: number) => Promise<Seen> }> {
  const port = await served((_, response) => response.setHeader('content-type', 'text/html').end(html))
  const at = startValidator(undefined, { ...process.env, RESOLVE_CHROMIUM: CHROMIUM })
  expect(await at.call('browser.open', { test: 'a3f2b1c4', port, address: '127.0.0.1' })).toEqual({})
  return { at, step: (step, timeout_ms = 5_000) => at.call<Seen>('browser.step', { step, timeout_ms }) }
}

describePage('the browser of the validator', () => {
  test('a page is used by roles and labels, and what was seen is told', async () => {
    const { at, step } = await opened(NOTES)
    expect(await step({ verb: 'goto', path: '/' })).toMatchObject({ step: 'goto /', error: null })
    expect(await step({ verb: 'fill', target: { label: 'New note' }, value: 'milk' })).toMatchObject({ error: null })
    const clicked = await step({ verb: 'click', target: { role: 'button', name: 'Add' } })
    expect(clicked).toMatchObject({
      step: 'click button "Add"',
      error: null,
      console: expect.arrayContaining(['log: added']),
    })
    expect(clicked.snapshot).toContain('milk')
    const expected = { verb: 'expect', target: { text: 'milk' }, state: 'visible', count: null, value: null }
    expect(await step(expected)).toMatchObject({ error: null })
    expect(await step({ ...expected, count: 2 }, 300)).toMatchObject({ error: '1 are visible, not 2' })
    // The picture of another origin was refused.
    expect(await step({ verb: 'expect_page', url: '/', title: 'Notes without' })).toMatchObject({ error: null })
    const { snapshot } = await at.call<{ snapshot: string }>('browser.snapshot', {})
    const [, ref] = /textbox "New note".*\[ref=(\w+)\]/.exec(snapshot) ?? []
    expect(await at.call('browser.ref', { ref, verb: 'fill', value: 'bread' })).toMatchObject({ error: null })
    expect(await step({ ...expected, target: { label: 'New note' }, value: 'bread' })).toMatchObject({ error: null })
    const { screenshot, trace_bytes } = await at.call<{ screenshot: string; trace_bytes: number }>('browser.close', {})
    expect(Buffer.from(screenshot, 'base64').subarray(1, 4).toString()).toBe('PNG')
    const { base64 } = await at.call<{ base64: string }>('browser.trace', { offset: 0, length: 524_288 })
    expect(Buffer.from(base64, 'base64').length).toBe(Math.min(trace_bytes, 524_288))
    expect(Buffer.from(base64, 'base64').subarray(0, 2).toString()).toBe('PK')
    expect(await at.call('listening', {}).then(({ ports }) => ports)).toBeInstanceOf(Array)
  })

  test('what is not there is an error at the time limit', async () => {
    const { step } = await opened('<p>nothing')
    await step({ verb: 'goto', path: '/' })
    expect((await step({ verb: 'click', target: { role: 'button', name: 'Add' } }, 500)).error).toContain(
      'Timeout 500ms',
    )
    expect((await step({ verb: 'goto', path: '/ok' })).error).toBeNull()
  })

  test.each([
    ['an endless loop', '<script>for(;;);</script>'],
    ['alerts without end', '<script>for(;;) alert(1)</script>'],
    [
      'a document without end',
      '<script>for(;;) document.body?.append(document.createElement("p")) ?? document.write("<body>")</script>',
    ],
  ])('%s ends in the limit of the step, and the next test begins anew', async (_, html) => {
    const { at, step } = await opened(html)
    const began = Date.now()
    const { error } = await step({ verb: 'goto', path: '/' }, 1_500)
    expect(Date.now() - began).toBeLessThan(3_500)
    expect(error).not.toBeNull()
    await at.call('browser.close', {})
    const port = await served((_request, response) =>
      response.setHeader('content-type', 'text/html').end('<h1>here</h1>'),
    )
    await at.call('browser.open', { test: 'b', port, address: '127.0.0.1' })
    expect((await step({ verb: 'goto', path: '/' })).snapshot).toContain('here')
  })

  test('it leaves no process and no file', async () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('resolve-validator-'))
    const { at, step } = await opened('<p>x')
    await step({ verb: 'goto', path: '/' })
    process.kill(at.pid, 'SIGTERM')
    await expect.poll(() => existsSync(`/proc/${at.pid}`)).toBe(false)
    const left = readdirSync(tmpdir()).filter((name) => name.startsWith('resolve-validator-'))
    expect(left.filter((name) => !before.includes(name))).toEqual([])
  })
})

test('without Chromium, opening says so', async () => {
  const at = startValidator(undefined, { ...process.env, RESOLVE_CHROMIUM: '/nowhere/chromium' })
  await expect(at.call('browser.open', { test: 'a', port: 1, address: '127.0.0.1' })).rejects.toThrow(
    'browser_unavailable',
  )
})
