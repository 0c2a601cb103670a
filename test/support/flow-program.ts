/**
 * A host and its consumer in one process that is made to fail: `node flow-program.ts HOME FLOWS`. It carries each flow from wherever
 * it stands to its end, asks again for what is refused, and prints a line for what was acknowledged, refused and reached. Run by
 * {@link file://./flows.ts}; the next process is called with the same flows and goes on with them.
 */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { InstanceRecord } from '../../src/core/protocol/instance.ts'
import { type FlowCase, type FlowLine, type FlowOrder, limitOf } from './flow-lines.ts'

type Core = typeof import('../../src/core/index.ts')

const [home = '', order = ''] = process.argv.slice(2)
const { flows, leaveWhenAsked } = JSON.parse(order) as FlowOrder
const dist = join(import.meta.dirname, '../../dist')
const core = (await import(pathToFileURL(join(dist, 'core/index.js')).href)) as Core

/** What was acknowledged to this process. */
const told = new Set<string>()
const { platform, keys } = await retryWhileDiskFull(async () => ({
  platform: await core.openLocalPlatform({ home, builtins: join(dist, 'resolvers') }),
  keys: new core.IdempotencyKeys(home),
}))
platform.startNotifying()
const deadline = Date.now() + limitOf(flows)
const done = await Promise.all(flows.map(carry))
if (leaveWhenAsked === true) process.kill(process.pid, 'SIGKILL')
await platform.releaseAndClose()
process.exit(done.every(Boolean) ? 0 : 3)

function tell(line: FlowLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

/** Whether it has come to its end. */
async function carry(flow: FlowCase): Promise<boolean> {
  let id: string | undefined
  while (Date.now() < deadline) {
    try {
      if (flow.kind === 'home') await keepHome(flow)
      id ??= await create(flow)
      const record = await platform.record(id)
      if (['completed', 'failed', 'cancelled'].includes(record.status) && !platform.hosted().includes(id)) {
        tell({ flow: flow.name, id, end: record })
        return true
      }
      if (leaveWhenAsked === true && record.pending_inputs > 0) return true
      // As `serve` does it for instances without a host.
      if (record.status !== 'paused') await platform.host(id)
      await act(flow, id, record)
    } catch (error) {
      tell({ flow: flow.name, refused: toCode(error), message: String(error) })
      await sleep(50)
    }
    await sleep(15)
  }
  return false
}

async function create(flow: FlowCase): Promise<string> {
  const password = flow.kind === 'secret' ? { password: 'pass-canary-9081x' } : {}
  const asked = {
    resolver: flow.resolver,
    input: { kind: flow.kind, ...password },
    executor: flow.executor ?? 'local',
  } as const
  const claim = await keys.claim({ scope: ['test'], key: flow.name, body: asked })
  if ('status' in claim) return (JSON.parse(claim.body as string) as { instance_id: string }).instance_id
  try {
    const from = Date.now()
    const { instance_id: id } = await platform.create({ ...asked, instance_id: claim.instanceId })
    await claim.answer({ status: 202, location: null, body: JSON.stringify({ instance_id: id }) })
    tell({
      flow: flow.name,
      id,
      ack: {
        method: 'POST',
        path: '/instances',
        // The journal is compared with it, and has no secret.
        sent: { ...asked, input: { kind: flow.kind } },
        status: 202,
        body: { instance_id: id },
        from,
        to: Date.now(),
      },
    })
    return id
  } finally {
    claim.release()
  }
}

/** What the consumer of a flow does next: each thing until it is acknowledged once. */
async function act(flow: FlowCase, id: string, record: InstanceRecord): Promise<void> {
  const { kind, name } = flow
  const by = (key: string) => ({ actor: 'tester', via: 'http', key: `${name} ${key}` }) as const
  const once = async (path: string, key: string | undefined, sent: unknown, work: () => Promise<unknown>) => {
    if (told.has(`${name} ${path}`)) return
    const from = Date.now()
    await work()
    told.add(`${name} ${path}`)
    const keyed = key === undefined ? {} : { key: `${name} ${key}` }
    tell({
      flow: name,
      id,
      ack: { method: 'POST', path: `/instances/${id}${path}`, sent, ...keyed, status: 200, from, to: Date.now() },
    })
  }
  const isUp = record.status === 'running' || record.status === 'awaiting_input'
  const answer = { x: 'kept' }
  const given = kind === 'secret' ? { ...answer, code: 'code-canary-7723yz' } : answer
  if (record.pending_inputs > 0) {
    await once('/input-requests/q', 'answer', answer, () => platform.answer(id, 'q', given, by('answer')))
  }
  const note = { text: 'hello' }
  if (kind === 'message' && isUp) {
    await once('/messages', 'note', note, () => platform.message(id, 'note', note, by('note')))
  }
  const force = kind === 'ignore'
  if ((kind === 'stop' || kind === 'ignore' || kind === 'wait') && isUp) {
    await once('/stop', undefined, {}, () => platform.stop(id, { reason: 'enough', force }))
  }
  if (kind !== 'pause') return
  const isPaused = (await platform.story(id)).history.some(({ status }) => status === 'paused')
  if (isUp && !isPaused) await once('/pause', undefined, undefined, () => platform.pause(id))
  if (record.status === 'paused') await platform.resume(id)
}

/** What a home keeps beside instances: another resolver, another token. */
async function keepHome(flow: FlowCase): Promise<void> {
  const catalog = await platform.catalog()
  await catalog.refresh()
  if (catalog.list().some(({ name }) => name === flow.resolver)) return
  await core.openTokens(home).create({ name: flow.name })
  const name = flow.resolver.replaceAll('-', '_')
  await platform.secrets.set(name, { from: 'value', text: 'home-canary-1234' })
  await platform.notify.add({ name, kind: 'slack', url: 'http://127.0.0.1:9/none', resolver: 'tour' }).catch(() => {})
  await catalog.add(flow.directory as string, { cwd: home })
}

async function retryWhileDiskFull<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (tries === 5) throw error
      await sleep(50)
    }
  }
}

function toCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'bug'
}
