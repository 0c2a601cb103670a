/** Every screen of the page with something on it: the accessibility test and the screenshots walk through the same ones. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Caller, createInstance, untilStatus } from './stand.ts'

const GRAPH = `digraph pipeline { rankdir=LR; node [shape=box, style=rounded];
  plan -> write; plan -> research; research -> write; write -> review; review -> write [label="again", style=dashed]; review -> deliver }`

/** A pipeline half done, as a picture and a list. */
export const pipeline = plainResolver(
  `
  fs.mkdirSync(root + '/data', { recursive: true })
  fs.writeFileSync(root + '/data/graph.dot', ${JSON.stringify(GRAPH)})
  fs.writeFileSync(root + '/data/report.md', '# Report\\n\\nThe plan holds. Two sources agree:\\n\\n- [one](https://example.org/)\\n- two\\n\\n\`\`\`\\nwords: 1200\\n\`\`\`\\n')
  fs.writeFileSync(root + '/data/sources.json', JSON.stringify({ sources: [{ title: 'One', score: 0.91 }, { title: 'Two', score: 0.84 }], checked: true }))
  fs.writeFileSync(root + '/state.json', JSON.stringify({ phase: 'writing', nodes: {
    plan: { status: 'completed', seconds: 12 }, research: { status: 'completed', seconds: 48 }, write: { status: 'running', attempt: 2 },
    review: { status: 'failed', reason: 'two claims without a source' }, deliver: 'pending' } }))
  me.emit('resolver:phase', { name: 'planning' })
  me.emit('resolver:progress', { milestone: 'plan', fraction: 0.2, label: 'Three parts were planned' })
  me.emit('pipeline.node_started', { node: 'research', model: 'small' })
  me.emit('pipeline.data_changed', { paths: ['graph.dot', 'sources.json'] })
  me.emit('resolver:phase', { name: 'writing', previous_phase: 'planning' })
  me.emit('resolver:progress', { milestone: 'draft', fraction: 0.6, label: 'Second draft' })
  me.emit('pipeline.review', { verdict: 'again', claims: 2 })
  me.emit('resolver:artifact', { kind: 'file', value: 'report.md' })
  await me.stopped
  me.finish({ status: 'cancelled' })
`,
  { name: 'report', description: 'Writes a report in five steps, each an agent of its own', supports_resume: true },
)

/** Ends badly, for the words of failure. */
export const fails = plainResolver(
  `
  me.emit('resolver:phase', { name: 'reading' })
  me.emit('resolver:artifact', { kind: 'error', value: 'The repository has no tests' })
  me.emit('resolver:completed', { outcome: 'failed', summary: 'nothing to verify', duration_s: 1, artifact_count: 1, error: { code: 'no_tests', detail: 'The repository has no tests' } })
  me.finish({ status: 'failed', error: 'The repository has no tests' })
`,
  { name: 'verifier', description: 'Verifies a change against its tests' },
)

export interface Stage {
  asking: string
  piped: string
  failed: string
  done: string
}

/** Instances in every state a screen can show. */
export async function setStage(call: Caller): Promise<Stage> {
  const done = await createInstance(call, 'tour', {
    subject: 'a lighthouse',
    pace: 'instant',
    plaque: true,
    inscription: 'For those at sea',
  })
  await untilStatus(call, done, 'awaiting_input')
  await call('POST', `/instances/${done}/input-requests/confirm-plan`, {
    go: true,
    note: 'Mind the step',
    foreman: 'Ada',
  })
  await untilStatus(call, done, 'completed')
  const failed = await createInstance(call, 'verifier')
  await untilStatus(call, failed, 'failed')
  const piped = await createInstance(call, 'report')
  await untilStatus(call, piped, 'running')
  const asking = await createInstance(call, 'tour', { subject: 'a bridge over the river', pace: 'brisk' })
  await untilStatus(call, asking, 'awaiting_input')
  // An event that came before the question may be read after it.
  await untilPhase(call, asking, 'planning')
  await call('PATCH', `/instances/${asking}`, { name: 'Bridge' })
  await call('PATCH', `/instances/${piped}`, { name: 'Quarterly report' })
  await call('PATCH', `/instances/${done}`, { name: 'Lighthouse' })
  await call('POST', `/instances/${asking}/messages`, { message_type: 'note', payload: { text: 'Bring a ladder' } })
  return { asking, piped, failed, done }
}

async function untilPhase(call: Caller, id: string, wanted: string): Promise<void> {
  for (const deadline = Date.now() + 30_000; ; await sleep(50)) {
    const { phase } = await call<{ phase: string | null }>('GET', `/instances/${id}/story`)
    if (phase === wanted) return
    if (Date.now() > deadline) throw new Error(`${id} is in phase ${phase}, not ${wanted}`)
  }
}

export interface Scene {
  name: string
  path: string
  /** Until it shows what it is about. */
  ready: (page: Page) => Promise<unknown>
}

export function scenes({ asking, piped, failed, done }: Stage): Scene[] {
  const text = (words: string | RegExp) => (page: Page) => page.getByText(words).first().waitFor()
  return [
    { name: 'create', path: '/?resolver=tour', ready: (page) => page.getByLabel('What to build').waitFor() },
    { name: 'instances', path: '/instances', ready: text('Quarterly report') },
    { name: 'inbox', path: '/inbox', ready: text('Build a bridge over the river in 4 steps?') },
    { name: 'resolvers', path: '/resolvers', ready: text('Greets a person by name') },
    { name: 'resolver', path: '/resolvers/tour', ready: (page) => page.getByLabel('What to build').waitFor() },
    { name: 'question', path: `/instances/${asking}/timeline`, ready: text('question confirm-plan') },
    { name: 'overview', path: `/instances/${done}/overview`, ready: text('Decisions') },
    { name: 'overview of a failure', path: `/instances/${failed}/overview`, ready: text('Why it failed') },
    { name: 'waterfall', path: `/instances/${piped}/waterfall?bar=phase-0`, ready: text('planning') },
    { name: 'timeline', path: `/instances/${piped}/timeline`, ready: text('Second draft') },
    { name: 'failure', path: `/instances/${failed}/timeline`, ready: text('Jump to failure') },
    {
      name: 'graph',
      path: `/instances/${piped}/graph`,
      // On a phone there is the table alone.
      ready: async (page) => {
        await page.locator('[data-node-row="write"][data-node-status="running"]').waitFor()
        await page.locator('.drawing [data-node="write"][data-node-status="running"]').waitFor({ state: 'attached' })
      },
    },
    { name: 'state', path: `/instances/${piped}/state`, ready: text('two claims without a source') },
    { name: 'data', path: `/instances/${piped}/data?file=report.md`, ready: text('Two sources agree:') },
    {
      name: 'messages',
      path: `/instances/${asking}/messages`,
      ready: (page) => page.getByRole('definition').getByText('Bring a ladder').waitFor(),
    },
    {
      name: 'view',
      path: `/instances/${done}/view`,
      ready: (page) => page.frameLocator('iframe').getByText('4 of 4 parts').waitFor(),
    },
    { name: 'log', path: `/instances/${done}/log`, ready: text('printed and logged nothing') },
    { name: 'raw', path: `/instances/${done}/raw`, ready: text('instance_id') },
  ]
}
