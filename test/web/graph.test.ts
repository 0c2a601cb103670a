/** The graph of a pipeline in the page: picture, table and inspector, live (decisions/0034). */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import { findings } from './findings.ts'
import { callerOf, createInstance, newToken, openContext, type Server, signedIn, startServer } from './stand.ts'
import { describePage } from './support.ts'

const HOSTILE = '<img src=x onerror=document.title=1>" \u202e ]; evil -> x [URL="javascript:1"'

/** Writes what the resolver of pipelines writes, in steps that the test asks for. */
const piped = plainResolver(
  `const graph = 'digraph p { rankdir=LR; start [shape=Mdiamond]; plan [prompt="Plan it", label="Plan the work"]; ' +
    'review [shape=diamond, human.default_choice="yes"]; "odd <b>" [label="' + me.params.text.replaceAll('"', '\\\\"') + '"]; exit [shape=Msquare]; ' +
    'start -> plan; plan -> review; review -> plan [label="again", condition="outcome=fail"]; review -> "odd <b>"; "odd <b>" -> exit }'
  const data = root + '/data/'
  const put = (path, text) => { fs.mkdirSync((data + path).replace(/[^/]*$/, ''), { recursive: true }); fs.writeFileSync(data + path, text) }
  const state = (nodes, edges) => {
    fs.writeFileSync(root + '/state.json.new', JSON.stringify({ pipeline: 'p', active_node: 'plan', nodes, edges, iteration: 1 }))
    fs.renameSync(root + '/state.json.new', root + '/state.json')
  }
  const pending = { status: 'pending', label: 'x', handler: 'codergen', visits: 0, attempts: 0 }
  const nodes = { start: { ...pending, handler: 'start', status: 'completed', visits: 1, duration_ms: 3 }, plan: { ...pending, label: 'Plan the work', status: 'running', visits: 1, attempts: 2, started_at: new Date().toISOString(), sessions: ['plan'], dirs: ['plan'] },
    review: pending, 'odd <b>': { ...pending, label: me.params.text }, exit: { ...pending, handler: 'exit' }, 'plan/inner': pending }
  put('graph.dot', graph)
  put('graphs/plan.dot', 'digraph child { inner -> other }')
  put('nodes/plan/prompt.md', 'Plan it: ' + me.params.text)
  state(nodes, [{ from: 'start', to: 'plan', taken: 1 }])
  me.emit('pipeline.data_changed', { paths: ['graph.dot'] })
  await me.ask('go', 'Go on?')
  put('nodes/plan/response.md', 'The plan is **this**.')
  put('nodes/plan-2/command.txt', 'ls -l')
  put('nodes/plan-2/output.txt', 'total 0')
  state({ ...nodes, plan: { ...nodes.plan, status: 'completed', visits: 2, attempts: 1, duration_ms: 62000, cost_usd: 0.1234, dirs: ['plan', 'plan-2'] }, review: { ...nodes.review, status: 'failed', reason: 'two claims without a source' }, 'odd <b>': { ...pending, status: 'waiting' }, exit: { ...pending, status: 'skipped' } },
    [{ from: 'start', to: 'plan', taken: 1 }, { from: 'plan', to: 'review', taken: 3 }, { from: 'review', to: 'plan', taken: 2 }])
  me.emit('pipeline.data_changed', { paths: ['nodes'] })
  await me.ask('end', 'End?')
  me.finish({ status: 'completed' })`,
  { name: 'piped' },
)

const NODES = 2_000

/** More nodes than a picture has room for, with a state that changes. */
const large = plainResolver(
  `const ids = Array.from({ length: ${NODES} }, (_, index) => 'node' + index)
  fs.mkdirSync(root + '/data', { recursive: true })
  fs.writeFileSync(root + '/data/graph.dot', 'digraph large {' + ids.slice(1).map((id, index) => ids[index] + ' -> ' + id).join('; ') + '}')
  const state = (status) => {
    fs.writeFileSync(root + '/state.json.new', JSON.stringify({ nodes: Object.fromEntries(ids.map((id) => [id, { status, handler: 'codergen' }])) }))
    fs.renameSync(root + '/state.json.new', root + '/state.json')
  }
  state('pending')
  me.emit('large.data_changed', { paths: ['graph.dot'] })
  await me.ask('go', 'Go on?')
  state('completed')
  await me.ask('end', 'End?')
  me.finish({ status: 'completed' })`,
  { name: 'large' },
)

/** Pictures for a person to look at, in the folder that RESOLVE_PICTURES names. */
async function pictured(page: Page, name: string): Promise<void> {
  const folder = process.env['RESOLVE_PICTURES']
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}

describePage('the page: the graph of a pipeline', () => {
  let server: Server

  beforeAll(async () => {
    server = await startServer([piped, large])
  })

  afterAll(() => server.close())

  // verifies: S-PIPE-06
  test('nodes and edges change while it runs; an inspector shows what a node did; text is text', {
    timeout: 90_000,
  }, async () => {
    const token = await newToken(server.home)
    const call = callerOf(server, token)
    const id = await createInstance(call, 'piped', { text: HOSTILE })
    const { context, complaints } = await openContext()
    const page = await signedIn(context, server, token)
    await page.goto(`${server.url}/instances/${id}/graph`)
    const node = (name: string) => page.locator(`.drawing [data-node="${name}"]`)
    const row = (name: string) => page.locator(`[data-node-row="${name}"]`)
    const edge = (from: string, to: string) => page.locator(`.drawing [data-edge='["${from}","${to}"]']`)
    await page.locator('.drawing [data-node="plan"][data-node-status="running"]').waitFor()
    expect(await node('plan').textContent()).toContain('Plan the work')
    expect(await node('odd <b>').textContent()).toContain('<img src=x')
    expect(await page.locator('.drawing [data-node]').count()).toBe(5)
    expect(await edge('start', 'plan').getAttribute('data-taken')).toBe('')
    expect(await edge('plan', 'review').getAttribute('data-taken')).toBe(null)
    expect(await edge('review', 'plan').textContent()).toContain('again')
    expect(await row('plan').textContent()).toContain('codergen')

    // By a click in the picture.
    await node('plan').click()
    const inspector = page.locator('[data-inspected="plan"]')
    await inspector.getByText('Plan it: <img src=x').waitFor()
    expect(await inspector.getByRole('link', { name: 'plan' }).getAttribute('href')).toContain('/sessions?session=plan')

    await call('POST', `/instances/${id}/input-requests/go`, {})
    await page.locator('.drawing [data-node="plan"][data-node-status="completed"]').waitFor()
    await page.locator('.drawing [data-node="odd <b>"][data-node-status="waiting"]').waitFor()
    await edge('plan', 'review').getByText('×3').waitFor()
    await edge('review', 'plan').getByText('×2').waitFor()
    expect(await row('review').textContent()).toContain('two claims without a source')
    expect(await row('plan').textContent()).toContain('completed211 min 2 s$0.1234')
    await inspector.getByText('ls -l').waitFor()
    await inspector.getByRole('button', { name: 'Output' }).click()
    await inspector.getByText('total 0').waitFor()
    await inspector.getByRole('combobox').selectOption('plan')
    await inspector.getByRole('button', { name: 'Answer' }).click()
    await inspector.getByText('The plan is').waitFor()
    await pictured(page, 'graph-1280')
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme })
      expect(await findings(page)).toEqual([])
    }

    // By the keyboard alone: Escape closes, and the focus is where it was.
    await inspector.getByRole('heading', { name: 'plan', exact: true }).focus()
    await page.keyboard.press('Escape')
    await inspector.waitFor({ state: 'detached' })
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('plan')
    await page.keyboard.press('Enter')
    await inspector.waitFor()

    const width = async () => Number(await page.locator('.drawing svg').getAttribute('width'))
    const before = await width()
    await page.getByRole('button', { name: 'Zoom in' }).click()
    await expect.poll(width).toBeGreaterThan(before)
    await page.getByRole('button', { name: 'Fit' }).click()
    await expect.poll(width).toBeLessThanOrEqual(before)

    // The graph of a child, whose nodes are told below the node that runs it.
    await page.locator('.graph-choice select').selectOption('graphs/plan.dot')
    await page.locator('.drawing [data-node="plan/inner"]').waitFor()

    await page.setViewportSize({ width: 390, height: 800 })
    expect(await page.locator('.drawing').isVisible()).toBe(false)
    expect(await row('plan').isVisible()).toBe(true)
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(await findings(page)).toEqual([])
    await pictured(page, 'graph-390')
    expect(await page.title()).not.toBe('1')
    expect(complaints).toEqual([])
    await context.close()
  })

  // verifies: S-PIPE-06
  test('of a graph that is too large for a picture the table is shown, and the page stays usable', {
    timeout: 60_000,
  }, async () => {
    const token = await newToken(server.home)
    const call = callerOf(server, token)
    const id = await createInstance(call, 'large')
    const { context, complaints } = await openContext()
    const page = await signedIn(context, server, token)
    await page.goto(`${server.url}/instances/${id}/graph`)
    await page.getByText('The graph has 2,000 nodes and 1,999 edges.').waitFor()
    expect(await page.locator('[data-node-row]').count()).toBe(NODES)
    await call('POST', `/instances/${id}/input-requests/go`, {})
    await page.locator('[data-node-row="node1999"][data-node-status="completed"]').waitFor()
    await page.locator('[data-node-row="node7"] button').click()
    await page.locator('[data-inspected="node7"]').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})
