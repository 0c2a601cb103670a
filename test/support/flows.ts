/** Six flows of an instance, and what must be left of each when a process that carried it was made to fail and the next went on. */
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { isTerminal } from '../../src/core/protocol/status.ts'
import { instancePaths, instancesDirectory, isInstanceId } from '../../src/core/store/home.ts'
import { readJournal } from '../../src/core/store/journal-projection.ts'
import { readRecord } from '../../src/core/store/record.ts'
import { readTokenFile } from '../../src/core/store/token-file.ts'
import { processesOf, signalAll } from '../../src/core/worker/local/process-tree.ts'
import { type FlowCase, type FlowKind, type FlowLine, type FlowOrder, limitOf } from './flow-lines.ts'
import { storyOf } from './instances.ts'
import { checkInvariants, readJson } from './invariants.ts'
import { type PlainResolver, plainResolver } from './plain-resolver.ts'
import { platformOn } from './platforms.ts'

const BEHAVIOUR = `
  const { kind } = me.params
  if (kind === 'wait' || kind === 'ignore') me.on['resolver.stop'] = () => ({ acknowledged: true })
  if (kind === 'linger') me.on['resolver.shutdown'] = () => {}
  for (let n = 0; n < 5; n += 1) me.emit('plain.tick', { n })
  console.error('a line for the log')
  if (kind === 'answer') { const answer = await me.ask('q', '?'); me.finish({ status: 'completed', output: answer.x }) }
  else if (kind === 'secret') { const answer = await me.ask('q', '?', { type: 'form', components: [{ type: 'text', id: 'x' }, { type: 'text', id: 'code', secret: true }] }); me.finish({ status: 'completed', output: [answer.x, answer.code.length, me.params.password.length].join() }) }
  else if (kind === 'message') { while (me.messages.length === 0) await sleep(5); me.finish({ status: 'completed', output: me.messages[0].payload.text }) }
  else if (kind === 'stop') { await me.stopped; me.finish({ status: 'cancelled' }) }
  else if (kind === 'pause' && !me.resume) { await me.stopped; me.finish({ status: 'paused' }) }
  else if (kind !== 'wait' && kind !== 'ignore') me.finish({ status: 'completed', output: 'done' })`

const SETUP = `me.on['resolver.getInstantiationSchema'] = () => ({ type: 'form', components: [{ type: 'text', id: 'password', secret: true }] })`

/** What the flow `secret` gives to its resolver: no file of the home has it. */
export const FLOW_SECRETS = ['pass-canary-9081x', 'code-canary-7723yz'] as const

const ENDS: Record<FlowKind, { status: string; output: string | null }> = {
  complete: { status: 'completed', output: 'done' },
  answer: { status: 'completed', output: 'kept' },
  secret: { status: 'completed', output: 'kept,18,17' },
  message: { status: 'completed', output: 'hello' },
  stop: { status: 'cancelled', output: null },
  wait: { status: 'cancelled', output: null },
  ignore: { status: 'cancelled', output: null },
  pause: { status: 'completed', output: 'done' },
  linger: { status: 'completed', output: 'done' },
  home: { status: 'completed', output: 'done' },
}

export function flowResolver(manifest: Record<string, unknown> = {}): PlainResolver {
  const resolver = plainResolver(BEHAVIOUR, { supports_resume: true, ...manifest }, SETUP)
  // In a container the resolver runs as another user.
  chmodSync(resolver.dir, 0o755)
  return resolver
}

/** A home that knows the resolver of the flows. */
export async function flowHome(manifest: Record<string, unknown> = {}): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'resolve-flows-'))
  const platform = await platformOn(home)
  await (await platform.catalog()).add(flowResolver(manifest).dir, { cwd: home })
  await platform.close()
  return home
}

/** What one process came to. */
export interface FlowRun {
  lines: FlowLine[]
  signal: string | null
  code: number | null
  stderr: string
  /** What a preload said on descriptor 3. */
  aside: string
}

/** Runs one process with these flows; `preload` is imported before anything else. */
export async function carryFlows(
  home: string,
  order: FlowOrder,
  options: { env?: NodeJS.ProcessEnv; preload?: string } = {},
): Promise<FlowRun> {
  const program = join(import.meta.dirname, 'flow-program.ts')
  const before = options.preload === undefined ? [] : ['--import', options.preload]
  const child = spawn(process.execPath, [...before, program, home, JSON.stringify(order)], {
    env: { ...process.env, RESOLVE_FAILPOINTS: '', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout?.on('data', (bytes) => {
    stdout += bytes
  })
  child.stderr?.on('data', (bytes) => {
    stderr += bytes
  })
  let aside = ''
  ;(child.stdio[3] as Readable).on('data', (bytes) => {
    aside += bytes
  })
  const hung = setTimeout(() => child.kill('SIGKILL'), 2 * limitOf(order.flows))
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.once('close', (...how) => resolve(how))
  })
  clearTimeout(hung)
  const lines = stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as FlowLine)
  return { lines, signal, code, stderr, aside }
}

/** Works off a list, so many at a time. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items]
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: width }, worker))
}

export interface Verdict {
  flow: string
  wrong: string[]
}

/** Has a sound process go on with every flow; answers each of which something does not hold. `runs` are those before it. */
export async function settleFlows(
  home: string,
  flows: readonly FlowCase[],
  runs: readonly FlowRun[],
  { env = {}, mayFail = () => false }: { env?: NodeJS.ProcessEnv; mayFail?: (flow: FlowCase) => boolean } = {},
): Promise<Verdict[]> {
  const last = await carryFlows(home, { flows: [...flows] }, { env })
  const told = [...runs, last].flatMap(({ lines }) => lines)
  const verdicts = flows.map((flow) => ({ flow: flow.name, wrong: judge(home, flow, told, mayFail(flow)) }))
  verdicts.push({ flow: 'the home', wrong: strangersIn(home, told) })
  const bad = verdicts.filter(({ wrong }) => wrong.length > 0)
  if (last.code !== 0)
    bad.push({ flow: 'the sound process', wrong: [`ended with ${last.code ?? last.signal}: ${last.stderr}`] })
  return bad
}

const TROUBLE = ['disk_full', 'launch_failed', 'coordination_tampered']

function judge(home: string, flow: FlowCase, told: readonly FlowLine[], mayFail: boolean): string[] {
  const own = told.filter(({ flow: name }) => name === flow.name)
  const ids = [...new Set(own.flatMap(({ id }) => (id === undefined ? [] : [id])))]
  const [id] = ids
  if (id === undefined)
    return [`it was never created: ${own.findLast(({ refused }) => refused !== undefined)?.message}`]
  if (ids.length > 1) return [`one key made ${ids.join(' and ')}`]
  const wrong: string[] = []
  const story = storyOf(home, id)
  const { status, output } = story
  // A machine in trouble may keep a worker from being started, and says so.
  const isRefused =
    mayFail && status === 'failed' && story.incarnation === 0 && TROUBLE.includes(story.error?.code ?? '')
  if (!isRefused && !isDeepStrictEqual({ status, output }, ENDS[flow.kind])) {
    wrong.push(`it ended as ${JSON.stringify({ status, output, error: story.error })}`)
  }
  const answers = own.flatMap(({ ack }) => (ack === undefined ? [] : [ack]))
  wrong.push(
    ...checkInvariants({ home, id, answers: distinct(answers) }).map(({ id: name, what }) => `${name}: ${what}`),
  )
  wrong.push(...leftOf(home, id))
  return wrong
}

/** What an instance that has ended must not leave behind: processes, a stop, secrets. */
export function leftOf(home: string, id: string): string[] {
  const wrong: string[] = []
  const { project, root, journal } = instancePaths(home, id)
  const alive = processesOf({ leader: 0, variable: `RESOLVE_DIR=${project}/.resolve` })
  if (alive.length > 0) wrong.push(`processes are left: ${alive.join()}`)
  if (readJournal(journal).inbox.stop !== undefined) wrong.push('its stop is still to be carried out')
  for (const name of ['mailbox', 'name.json']) if (readdirSync(root).includes(name)) wrong.push(`${name} is left`)
  const config = readJson(join(project, '.resolve/config.json'))
  if ((config?.['sub_container_token'] ?? '') !== '') wrong.push('its config holds its token')
  return wrong
}

/** A retry under its key is the same act. */
function distinct<T extends { path: string; key?: string }>(answers: readonly T[]): T[] {
  return answers.filter(
    ({ path, key }, index) =>
      key === undefined || answers.findIndex((one) => one.path === path && one.key === key) === index,
  )
}

/** Directories without an instance: only leftovers that prune removes are permitted. */
function strangersIn(home: string, told: readonly FlowLine[]): string[] {
  const known = new Set(told.map(({ id }) => id))
  const wrong = readdirSync(instancesDirectory(home)).filter((name) => !known.has(name) && !name.startsWith('.new-'))
  const { problem } = readTokenFile(join(home, 'tokens.json'))
  return [...wrong.map((name) => `${name} has no instance`), ...(problem === null ? [] : [problem.message])]
}

/** Ends what a failed test left running. */
export function endWorkers(home: string): void {
  for (const id of readdirSync(instancesDirectory(home)).filter(isInstanceId)) {
    if (isTerminal(readRecord(instancePaths(home, id)).status)) continue
    signalAll(
      processesOf({ leader: 0, variable: `RESOLVE_DIR=${instancePaths(home, id).project}/.resolve` }),
      'SIGKILL',
    )
  }
}
