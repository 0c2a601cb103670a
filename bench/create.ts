/**
 * Measures POST /instances until the resolver's first event arrives at a reader of the event stream. The bare counterpart
 * starts the same program, calls initialize and run, and waits for the event in the file. The form was requested before, as a
 * page does.
 */
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { INQUIRY_LOCAL_IDLE_MS } from '../src/core/limits.ts'
import { type PlainResolver, plainResolver } from '../test/support/plain-resolver.ts'
import { inTurn, type Part, type Sample } from './figure.ts'
import { sized } from './quick.ts'
import { TYPED_EVENT, typedResolver } from './typed-resolver.ts'

const NAME = 'POST /instances → first event'
const TYPED = 'POST /instances → first event, .ts'
const COLD = 'the same, no form requested before'
const PAIRS = sized(15, 3)
/** Each resolver of the last figure is created once, when its process of an earlier question has ended. */
const COLD_RESOLVERS = sized(5, 1)
const EVENT = 'plain.ready'

export const create: Part = {
  figures: [
    { name: NAME, against: 'start, initialize, run, event', goal: { most: 1.6 } },
    { name: TYPED, against: '–', goal: { most: 60 }, unit: 'ms' },
    { name: COLD, against: '–', goal: { most: 120 }, unit: 'ms' },
  ],
  rounds: 3,
  round,
}

async function round(): Promise<Sample[]> {
  const home = mkdtempSync(join(tmpdir(), 'resolve-bench-'))
  const resolver = plainResolver(`me.emit('${EVENT}'); me.finish({ status: 'completed' })`)
  const typed = Array.from({ length: COLD_RESOLVERS }, (_, at) => typedResolver(`typed-${at}`))
  const directories = [resolver, ...typed].map(({ dir }) => dir)
  const server = fork(join(import.meta.dirname, 'create-server.ts'), [home, ...directories], { silent: false })
  try {
    const [{ port }] = (await once(server, 'message')) as [{ port: number }]
    const api = `http://127.0.0.1:${port}/api`
    const ours = async () => {
      await requestForm(api, resolver.name)
      return await untilFirstEvent(api, resolver.name, EVENT)
    }
    const bare = () => bareHandshake(resolver)
    await inTurn('warm', 2, ours, bare)
    const samples = await inTurn(NAME, PAIRS, ours, bare)
    // The first one compiles.
    for (const { name } of typed) await untilFirstEvent(api, name, TYPED_EVENT)
    const [{ name: first } = { name: '' }] = typed
    for (let n = 0; n < PAIRS; n += 1) {
      await requestForm(api, first)
      samples.push({ figure: TYPED, value: await untilFirstEvent(api, first, TYPED_EVENT) })
    }
    await sleep(INQUIRY_LOCAL_IDLE_MS + 500)
    for (const { name } of typed) samples.push({ figure: COLD, value: await untilFirstEvent(api, name, TYPED_EVENT) })
    return samples
  } finally {
    server.send('end')
    await once(server, 'exit')
    for (const dir of directories) rmSync(dir, { recursive: true, force: true })
  }
}

async function requestForm(api: string, name: string): Promise<void> {
  const schema = await fetch(`${api}/resolvers/${name}/schema`)
  await schema.arrayBuffer()
  if (!schema.ok) throw new Error(`The form was answered with ${schema.status}.`)
}

async function untilFirstEvent(api: string, name: string, event: string): Promise<number> {
  const begin = performance.now()
  const created = await fetch(`${api}/instances`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resolver: name, input: {} }),
  })
  const { instance_id: id } = (await created.json()) as { instance_id: string }
  const events = await fetch(`${api}/instances/${id}/events`, { headers: { accept: 'text/event-stream' } })
  let took: number | undefined
  let text = ''
  for await (const chunk of events.body as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString('utf8')
    // The SDK puts the name of the resolver before it.
    if (text.includes(`${event}"`)) took ??= performance.now() - begin
    // Its end is awaited but not measured, so that the next one has the machine to itself.
    if (/"to":"(?:completed|failed|cancelled)"/.test(text)) break
  }
  if (took === undefined) throw new Error(`The instance said no more than: ${text}`)
  return took
}

async function bareHandshake({ dir }: PlainResolver): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'resolve-bare-'))
  const begin = performance.now()
  const child = spawn(process.execPath, [join(dir, 'program.mjs')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], RESOLVE_DIR: directory },
  })
  const say = (id: number, method: string, params: object) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
  say(1, 'resolver.initialize', { config: { instance_id: 'bare', params: {} }, epoch: 1 })
  let text = ''
  for await (const chunk of child.stdout) {
    text += String(chunk)
    if (text.includes('"ready"') && !text.includes('"started"')) say(2, 'resolver.run', { resume: false })
    if (!text.includes('"started"')) continue
    // It says that it has started after its first event.
    if (!readFileSync(join(directory, 'events.jsonl'), 'utf8').includes(EVENT)) throw new Error('There is no event.')
    break
  }
  const took = performance.now() - begin
  child.kill('SIGKILL')
  await once(child, 'exit')
  rmSync(directory, { recursive: true, force: true })
  return took
}
