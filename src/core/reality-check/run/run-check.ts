/**
 * One reality check from its clone to its result, in the order in which it happens (docs/reality-check.md). The host's check broker calls it. Whatever
 * happens is a result, never an exception.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { CHECK_LOG_TAIL_CHARS } from '../../limits.ts'
import type { CheckPlan, CheckReport, CheckResult, CheckWish, TestResult } from '../../protocol/check/reality-check.ts'
import type { PlatformEvent } from '../../protocol/event.ts'
import type { Engine } from '../../worker/engine/engine.ts'
import { NO_NETWORK, type SandboxNetwork } from '../../worker/sandbox-network.ts'
import { detectPlan } from '../plan/plan.ts'
import { openSourceTree } from '../plan/source-tree.ts'
import type { RoomOwner } from '../room/containers.ts'
import { removeRoom } from '../room/room-engine.ts'
import { decide, statisticsOf, summaryOf } from '../verdict/verdict.ts'
import { buildSoftware } from './build.ts'
import { CheckEnd, endOf } from './check-end.ts'
import type { CheckFiles } from './check-files.ts'
import { Room } from './room.ts'
import { notReached, TestRun } from './run-tests.ts'

export interface BuildNetwork {
  network: SandboxNetwork
  denied: () => readonly string[]
  close: () => Promise<void>
}

export interface CheckParts {
  engine: Engine
  owner: RoomOwner
  files: CheckFiles
  /** The image that software is built from where the request names none. */
  image: string
  /** The image of the validator; asked for when the room is opened. */
  validatorImage: () => Promise<string>
  /** Which images a request may name. */
  mayUse: (image: string) => boolean
  /** Clones the software into a directory that does not exist yet. */
  clone: (address: string, into: string, signal: AbortSignal) => Promise<{ commit: string | null }>
  openNetwork: (mode: CheckWish['environment']['network']['build']) => Promise<BuildNetwork>
  tell: (type: PlatformEvent, data: Record<string, unknown>) => Promise<void>
  redact: (text: string) => string
  /** Why the check is not begun; null where it is. */
  refusal: string | null
}

type FoundPlan = Exclude<Awaited<ReturnType<typeof detectPlan>>, { fault: string }>

interface Progress {
  stage: CheckReport['stage']
  plan: CheckPlan | null
  commit: string | null
  log: string
  durations: Record<string, number>
  results: TestResult[]
}

/** The reason of a signal with which the host leaves the check to the next host: it has no result then. */
export const LEFT_TO_NEXT_HOST = 'left to the next host'

export async function runCheck(
  wish: CheckWish,
  parts: CheckParts,
  signal: AbortSignal,
): Promise<CheckResult | undefined> {
  const progress: Progress = { stage: 'request', plan: null, commit: null, log: '', durations: {}, results: [] }
  const { engine, owner, files } = parts
  await removeRoom(engine, owner)
  const late = AbortSignal.timeout(wish.timeout_seconds * 1_000)
  let end: CheckEnd | null = null
  try {
    await carryOut(wish, parts, progress, AbortSignal.any([signal, late]))
  } catch (error) {
    end = why(error, progress, { signal, late }, wish)
    if (end.log !== '') progress.log = end.log
  }
  if (signal.reason === LEFT_TO_NEXT_HOST) return undefined
  await removeRoom(engine, owner)
  const result = resultOf(wish, parts, progress, end)
  files.finish(result)
  return result
}

async function carryOut(wish: CheckWish, parts: CheckParts, progress: Progress, signal: AbortSignal): Promise<void> {
  const { engine, owner, files, redact, tell } = parts
  const { environment, criteria } = wish
  const session_id = owner.session
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const began = performance.now()
    const told = (state: string, more: Record<string, unknown> = {}) =>
      tell('platform.reality_check.recipe_step', { session_id, step_name: name, state, ...more })
    await told('begun')
    try {
      const value = await work()
      await told('done', { duration_s: secondsSince(began) })
      return value
    } catch (error) {
      const { error: detail } = endOf(error, progress.stage).ending
      if (!signal.aborted)
        await told('failed', { duration_s: secondsSince(began), detail: redact(detail).slice(0, 500) })
      throw error
    } finally {
      progress.durations[name] = secondsSince(began)
    }
  }

  if (parts.refusal !== null) throw new CheckEnd('request', 'infrastructure', parts.refusal)
  progress.stage = 'clone'
  const { commit } = await step('clone', () => parts.clone(wish.software_path, files.sources, signal))
  progress.commit = commit

  progress.stage = 'plan'
  const found = await step('plan', () => planOf(wish, files))
  const { plan } = found
  progress.plan = plan
  files.write('plan.json', JSON.stringify(plan, null, 2))
  const image = environment.image ?? parts.image
  if (!parts.mayUse(image))
    throw new CheckEnd('plan', 'config', `The image "${image}" is not one an operator allows (RESOLVE_SANDBOX_IMAGES)`)

  progress.stage = 'build'
  const isOffline = plan.fetch === null && plan.install === null && plan.build === null
  const net = isOffline ? OFFLINE : await parts.openNetwork(environment.network.build)
  const logs: string[] = []
  let built: string
  try {
    built = await buildSoftware(files.sources, found, {
      ...{ engine, owner, image, network: net.network, denied: net.denied, step, signal },
      onLog: (stage, text) => {
        logs.push(text)
        files.write(`logs/${stage}.log`, redact(logs.join('')))
      },
    })
  } finally {
    await net.close()
  }

  progress.stage = 'start'
  const room = await step('start', async () => {
    const validatorImage = await parts.validatorImage()
    const opened = await Room.open({ ...parts, image: built, validatorImage, plan, environment })
    try {
      const place = await opened.ready(signal)
      const access_urls =
        place === null
          ? []
          : [`http://${place.address.includes(':') ? `[${place.address}]` : place.address}:${place.port}/`]
      await tell('platform.reality_check.dtu_provisioned', {
        session_id,
        dtu_id: session_id,
        access_urls,
        port: place?.port ?? null,
      })
      return opened
    } catch (error) {
      opened.close()
      throw error
    }
  })

  progress.stage = 'tests'
  try {
    for (const test of criteria.tests) {
      const result = await step(`test:${test.id}`, () => new TestRun(room, test, signal).run())
      progress.results.push(result)
      await requireAlive(room, result)
    }
    progress.stage = 'done'
  } finally {
    progress.log = redact((await room.software?.log().catch(() => '')) ?? '')
    files.write('logs/software.log', progress.log)
    room.close()
  }
}

async function planOf({ environment }: CheckWish, files: CheckFiles): Promise<FoundPlan> {
  const tree = openSourceTree(files.sources)
  try {
    const found = await detectPlan(tree, environment)
    if ('fault' in found) throw new CheckEnd('plan', 'config', found.fault)
    return found
  } finally {
    tree.close()
  }
}

/** Software that ends while it is tested has failed, whatever the test says. */
async function requireAlive({ software }: Room, { status }: TestResult): Promise<void> {
  // Software that ended in the test may end a moment after its connections.
  const looks = status === 'failed' ? LOOKS_AFTER_FAILURE : 1
  for (let look = 1; look <= looks; look += 1) {
    const condition = await software?.condition()
    if (condition !== undefined && !condition.isRunning) {
      const why = condition.isOutOfMemory ? 'it needs more memory than it may use' : `exit code ${condition.exitCode}`
      throw new CheckEnd('tests', 'software', `The software ended during the tests: ${why}`)
    }
    if (look < looks) await sleep(LOOK_MS)
  }
}

function why(
  error: unknown,
  { stage }: Progress,
  { signal, late }: { signal: AbortSignal; late: AbortSignal },
  wish: CheckWish,
): CheckEnd {
  if (signal.aborted) return new CheckEnd(stage, 'cancelled', 'The check was cancelled')
  if (late.aborted) return new CheckEnd(stage, 'timeout', `The check took longer than ${wish.timeout_seconds} s`)
  return endOf(error, stage)
}

function resultOf(
  wish: CheckWish,
  { owner, redact, files }: CheckParts,
  progress: Progress,
  end: CheckEnd | null,
): CheckResult {
  const { criteria } = wish
  const plain =
    criteria.spec !== null && (criteria.tests.length === 0 || criteria.derive) ? [ofSpec(criteria.spec)] : []
  const judged = progress.results.map(({ id }) => id)
  const left = criteria.tests.filter(({ id }) => !judged.includes(id))
  const rest = left.map((test) =>
    notReached(test, end ?? new CheckEnd('tests', 'infrastructure', 'It was not carried out')),
  )
  const results = [...progress.results, ...rest, ...plain]
  const ending = end?.ending ?? null
  const decision = decide(results, ending)
  const of = (status: TestResult['status']) => results.filter((result) => result.status === status)
  const report: CheckReport = {
    summary: redact(summaryOf(decision, results, ending)),
    statistics: statisticsOf(results),
    passed: of('passed'),
    failures: of('failed'),
    missing: of('missing'),
    assumptions: criteria.assumptions,
    stage: progress.stage,
    plan: progress.plan,
    commit: progress.commit,
    durations: progress.durations,
    log_tail: redact(progress.log).slice(-CHECK_LOG_TAIL_CHARS).toWellFormed(),
    kept: null,
  }
  return {
    session_id: owner.session,
    status: decision.status,
    verdict: decision.verdict,
    failure_mode: decision.mode,
    software: redact(wish.software_path),
    report,
    artifact_paths: [...files.paths],
    error: decision.verdict === null ? report.summary : null,
  }
}

/** The criteria in plain language need a model, which makes tests of them. */
function ofSpec(spec: string): TestResult {
  const nothing = { evidence: [], screenshots: [], observations: [], trace: null, duration_ms: 0 }
  const reason = 'It is in plain language, and there is no model to make tests of it; give "checks" or "tests"'
  return {
    id: '00000000',
    test: spec.trim().slice(0, 200),
    validator: 'session',
    status: 'missing',
    reason,
    mode: 'config',
    ...nothing,
  }
}

const LOOKS_AFTER_FAILURE = 4
const LOOK_MS = 100

const OFFLINE: BuildNetwork = { network: NO_NETWORK, denied: () => [], close: async () => {} }

function secondsSince(began: number): number {
  return Math.round(performance.now() - began) / 1_000
}
