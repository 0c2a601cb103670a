/**
 * A host that is killed at any step between an intent and its effect loses nothing: the next one carries the flow to the end it
 * would have had. With RESOLVE_SOAK=1 each step also fails with EIO, with ENOSPC, and takes its time.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FAILPOINTS, type Failpoint, parseFailpoints } from '../../src/core/failpoints.ts'
import { addTarget } from '../../src/core/notify/targets.ts'
import { instanceIds } from '../../src/core/store/home.ts'
import { sourceFiles } from '../house/source-files.ts'
import { describeWithDocker, removeContainersOf, testImage } from '../support/docker.ts'
import { filesWith } from '../support/files-with.ts'
import type { FlowCase, FlowKind } from '../support/flow-lines.ts'
import {
  carryFlows,
  endWorkers,
  FLOW_SECRETS,
  type FlowRun,
  flowHome,
  flowResolver,
  inParallel,
  settleFlows,
} from '../support/flows.ts'
import { platformOn } from '../support/platforms.ts'
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts'

const isLong = process.env['RESOLVE_SOAK'] === '1'
/** A host's turn takes this long to come to, so it is passed in the long form only. */
const SLOW: readonly Failpoint[] = ['stop.terminating']

/**
 * No flow of one instance passes these: test/server/queue.test.ts, schedules.test.ts, uploads.test.ts, test/commands/frozen-journals.test.ts,
 * test/docker/setup.test.ts, test/promotion/killed.test.ts, test/git/killed-clones.test.ts and test/git/snapshots-kept.test.ts kill at each of them.
 */
const ELSEWHERE: readonly Failpoint[] = FAILPOINTS.filter((name) =>
  /^(queue|schedule|setup|upload|promotion|workspace|snapshot)\.|^journal\.frozen$/.test(name),
)

/** The flow that passes a step; `adopt` is one whose first host is gone before. */
function flowOf(name: Failpoint): FlowKind | 'adopt' | 'docker' {
  const [subject = '', step = ''] = name.split('.')
  if (['catalog', 'tokens', 'secrets', 'targets'].includes(subject)) return 'home'
  if (subject === 'seal') return 'secret'
  if (subject === 'container') return 'docker'
  if (subject === 'adoption') return 'adopt'
  if (subject === 'request') return 'answer'
  if (name === 'stop.terminating') return 'wait'
  if (name === 'stop.killing') return 'ignore'
  if (subject === 'resume') return 'pause'
  if (subject === 'end' && step === 'terminating') return 'linger'
  return (['answer', 'message', 'stop', 'pause'] as const).find((kind) => kind === subject) ?? 'complete'
}

test('RESOLVE_FAILPOINTS refuses unknown failpoints and actions, and can name the n-th passing', async () => {
  for (const text of [
    'nowhere.at=kill',
    'creation.drafted',
    'creation.drafted=explode',
    'creation.drafted@0=kill',
    'creation.drafted=sleep',
  ]) {
    expect(() => parseFailpoints(text)).toThrow(`RESOLVE_FAILPOINTS has "${text}"`)
  }
  expect(parseFailpoints('creation.drafted=kill, journal.written@3=sleep:20,journal.written=throw')).toEqual(
    new Map([
      ['creation.drafted', [{ at: undefined, action: 'kill' }]],
      [
        'journal.written',
        [
          { at: 3, action: 'sleep:20' },
          { at: undefined, action: 'throw' },
        ],
      ],
    ]),
  )
  const refused = await carryFlows('/nowhere', { flows: [] }, { env: { RESOLVE_FAILPOINTS: 'nowhere.at=kill' } })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('which names no failpoint') })
})

test('every failpoint name is used in the source, and no other name', () => {
  const code = sourceFiles('src')
    .filter(({ path }) => !path.endsWith('/failpoints.ts'))
    .map((file) => file.code)
    .join('\n')
  const placed = [...code.matchAll(/\bfailpoint\((['`])([^'`]+)\1\)/g)].map(([, , name]) => name as string)
  // `catalog.${step}` and `${kept.kind}.called` stand for several.
  const toPattern = (name: string) =>
    new RegExp(`^${name.replaceAll('.', '\\.').replace(/\$\{\w+(?:\\\.\w+)*\}/g, '[a-z]+')}$`)
  const matches = (name: string, pattern: string) => toPattern(pattern).test(name)
  expect(FAILPOINTS.filter((name) => !placed.some((pattern) => matches(name, pattern)))).toEqual([])
  expect(placed.filter((pattern) => !FAILPOINTS.some((name) => matches(name, pattern)))).toEqual([])
})

/** Fails one step of a flow in a process of its own; all of them at once, then one sound process for all. */
async function sweep(
  home: string,
  names: readonly Failpoint[],
  action: string,
  env: NodeJS.ProcessEnv = {},
  kindOf: typeof flowOf = flowOf,
) {
  const cases = names.map((name, index) => {
    const kind = kindOf(name)
    const resolver = kind === 'home' ? `extra-${index}` : 'plain'
    const flow: FlowCase = {
      name: `${name} ${action}`,
      kind: kind === 'adopt' ? 'answer' : kind === 'docker' ? 'complete' : kind,
      resolver,
      executor: kind === 'docker' ? 'docker' : 'local',
      ...(kind === 'home' ? { directory: flowResolver({ name: resolver }).dir } : {}),
    }
    return { name, flow, isAdopted: kind === 'adopt' }
  })
  const runs: FlowRun[] = []
  const left = cases.filter(({ isAdopted }) => isAdopted).map(({ flow }) => flow)
  if (left.length > 0) runs.push(await carryFlows(home, { flows: left, leaveWhenAsked: true }, { env }))
  const notPassed: string[] = []
  const needsAnother: string[] = []
  await inParallel(cases, PARALLEL, async ({ name, flow }) => {
    // Each passing of a slow step costs the whole time of a stop.
    const times = action === 'enospc' && !SLOW.includes(name) ? TIMES : [1]
    const fault = times.map((at) => `${name}@${at}=${action}`).join()
    const run = await carryFlows(home, { flows: [flow] }, { env: { ...env, RESOLVE_FAILPOINTS: fault } })
    runs.push(run)
    if (action === 'kill' && run.signal !== 'SIGKILL') notPassed.push(flow.name)
    if (run.code !== 0) needsAnother.push(`${flow.name}: ${run.signal ?? run.code} ${run.stderr.slice(0, 600)}`)
  })
  const wrong = await settleFlows(
    home,
    cases.map(({ flow }) => flow),
    runs,
    { env },
  )
  return { notPassed, needsAnother, wrong }
}

/** Where a host has a secret in a file, or is about to write or remove one. */
const WITH_SECRET: readonly Failpoint[] = [
  ...(['creation.written', 'creation.renamed', 'creation.durable', 'key.claimed', 'key.answering'] as const),
  ...(['launch.configured', 'launch.started', 'ready.answered', 'run.marked', 'seal.listed'] as const),
  ...(['answer.appended', 'answer.accepted', 'answer.published', 'answer.called', 'answer.marked'] as const),
  ...(['end.gone', 'end.drained', 'end.scrubbing', 'end.cleaned', 'end.told'] as const),
]

const PARALLEL = 4
/** A disk stays full for a while. */
const TIMES = [1, 2, 3]
/** Where a full disk once ended the host, with all it hosted, or left the flow waiting for the next one. */
const ONCE_FATAL: readonly Failpoint[] = [
  ...([
    'owner.claimed',
    'run.sent',
    'run.acknowledged',
    'events.carried',
    'answer.appended',
    'answer.accepted',
  ] as const),
  ...(['answer.called', 'message.marked', 'stop.called'] as const),
]

describe('local workers', () => {
  let home: string
  let receiver: Receiver
  beforeEach(async () => {
    home = await flowHome()
    receiver = await startReceiver()
    await addTarget(home, { name: 'flows', kind: 'webhook', url: receiver.url, secret: receiver.secret })
  })
  afterEach(async () => {
    endWorkers(home)
    await receiver.close()
  })

  const names = FAILPOINTS.filter(
    (name) => flowOf(name) !== 'docker' && !ELSEWHERE.includes(name) && (isLong || !SLOW.includes(name)),
  )

  test(`killed at each of ${names.length} steps, the next host brings each flow to the right end`, {
    timeout: 240_000,
  }, async () => {
    const { notPassed, wrong } = await sweep(home, names, 'kill')
    expect(wrong).toEqual([])
    // Each instance has ended, so its end is told: at least once, whichever step its host was killed at. What the last host had no time
    // for is left to the next process.
    const platform = await platformOn(home)
    platform.startNotifying()
    const told = () => new Set(receiver.valid().map(({ data }) => data.instance_id))
    await expect.poll(() => instanceIds(home).filter((id) => !told().has(id))).toEqual([])
    await platform.close()
    expect(receiver.invalid()).toEqual([])
    expect(filesWith(home, [...FLOW_SECRETS, 'home-canary-1234'])).toEqual([])
    // Any process of the home may have sent the notice of an instance before its own host came to it.
    expect(notPassed.filter((name) => !/^outbox\.(?!opened)/.test(name))).toEqual([])
  })

  // verifies: S-SECRET-01 S-NOTIFY-02
  test(`killed at each of ${WITH_SECRET.length} steps with a secret in hand, no file keeps it and its resolver gets it`, {
    timeout: 120_000,
  }, async () => {
    const { notPassed, wrong } = await sweep(home, WITH_SECRET, 'kill', {}, () => 'secret')
    expect(wrong).toEqual([])
    expect(notPassed).toEqual([])
    expect(filesWith(home, FLOW_SECRETS)).toEqual([])
  })

  test.runIf(!isLong)('a disk that is full for a moment does not end a host', { timeout: 120_000 }, async () => {
    const { needsAnother, wrong } = await sweep(home, ONCE_FATAL, 'enospc')
    expect(wrong).toEqual([])
    expect(needsAnother).toEqual([])
  })

  test.runIf(isLong)('a step that is slow changes nothing', { timeout: 300_000 }, async () => {
    const { needsAnother, wrong } = await sweep(home, names, 'sleep:150')
    expect(wrong).toEqual([])
    expect(needsAnother).toEqual([])
  })

  test.runIf(isLong).for(['throw', 'enospc'])(
    '%s at each step brings the flow to the right end, and does not end a host',
    { timeout: 300_000 },
    async (action) => {
      const { needsAnother, wrong } = await sweep(home, names, action)
      expect(wrong).toEqual([])
      expect(needsAnother).toEqual([])
    },
  )
})

describeWithDocker('workers in containers', () => {
  const env = { RESOLVE_WORKER_IMAGE: testImage() }
  let home: string
  beforeAll(async () => {
    home = await flowHome({ container: {} })
  })
  afterAll(() => removeContainersOf(home))

  const names = FAILPOINTS.filter((name) => flowOf(name) === 'docker')

  test(`killed at each of ${names.length} steps of the launch, the next host brings each flow to the right end`, {
    timeout: 120_000,
  }, async () => {
    const { notPassed, wrong } = await sweep(home, names, 'kill', env)
    expect(wrong).toEqual([])
    expect(notPassed).toEqual([])
  })
})
