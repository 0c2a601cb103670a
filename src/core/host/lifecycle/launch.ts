/** Gets an instance its worker: adopts the one of an earlier host, or starts a new one (architecture, decision 2). */
import { ResolveError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { STATUS_FILE } from '../../protocol/coordination.ts'
import type { InstanceConfig } from '../../protocol/instance.ts'
import type { CoordinationDirectory, Driver, Worker } from '../../worker/worker.ts'
import { writeConfig } from '../launch/config.ts'
import { containerLaunch } from '../launch/container-launch.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { InstanceResources } from '../resources/instance-resources.ts'
import { type Ending, isResumable, pausedByLoss } from './outcome.ts'
import { describeExit, hasCheckpoint, hasStatusCheckpoint } from './run-result.ts'
import { requireCoordination } from './unusable-coordination.ts'

export interface Launch {
  ledger: Ledger
  driver: Driver
  coordination: CoordinationDirectory
  config: InstanceConfig
  epoch: number
  /** Writes to the journal; while the disk is full, it waits for free space. */
  write: (line: () => void) => Promise<void>
  /** Aborts the launch: the instance is stopped, or another host owns it. */
  signal: AbortSignal
  /** Whether this host has released the instance: then it must not change anything of it. */
  isReleased: () => boolean
  resources: InstanceResources
}

/** A worker of the wanted incarnation, or the ending if there can be none. */
export async function reachWorker(launch: Launch): Promise<Worker | Ending> {
  const { ledger, driver, coordination, epoch, write } = launch
  const { incarnation, wantedIncarnation } = ledger.story
  let worker: Worker | undefined
  try {
    requireCoordination(coordination)
    worker = await driver.adopt(coordination, wantedIncarnation)
  } catch (error) {
    // A damaged coordination directory or stdio cannot be repaired, but the worker's processes can be ended.
    if (!(error instanceof ResolveError)) throw error
    if (launch.isReleased()) return interrupted()
    await driver.sweep()
    return failed(error.code, error.message)
  }
  if (launch.isReleased()) return worker ?? interrupted()
  if (worker !== undefined) {
    failpoint('adoption.reached')
    launch.resources.egress.reopen()
    coordination.clearDrafts()
    // Its host died between the start and the journal line about it.
    if (incarnation < wantedIncarnation) await noteLaunch(launch)
    await write(() => ledger.record('platform.worker.adopted', { epoch }))
    failpoint('adoption.noted')
    return worker
  }
  if (incarnation < wantedIncarnation) return await startWorker(launch)
  await driver.sweep()
  const how = 'The worker is gone and left no trace.'
  const resumability = { supportsResume: supportsResume(ledger), hasCheckpoint: hasCheckpoint(coordination) }
  if (ledger.status !== 'starting' && isResumable(resumability)) return pausedByLoss(how)
  return failed('worker_exited', how)
}

/** By the manifest that the instance was created with. */
export function supportsResume({ story }: Ledger): boolean {
  return story.creation.resolver.manifest.supports_resume === true
}

async function startWorker(launch: Launch): Promise<Worker | Ending> {
  const { ledger, driver, coordination, config, epoch, write, signal, resources } = launch
  const { creation, wantedIncarnation } = ledger.story
  try {
    // An old result would end the new run at once (R21); a checkpoint is what it resumes from.
    if (!hasStatusCheckpoint(coordination)) coordination.remove(STATUS_FILE)
    writeConfig(coordination, config)
    failpoint('launch.configured')
    const network = await resources.egress.open()
    if (signal.aborted) return interrupted()
    const worker = await driver.start(coordination, {
      command: creation.container?.command ?? creation.resolver.manifest.command,
      directory: creation.resolver.dir,
      environment: creation.environment,
      incarnation: wantedIncarnation,
      isFirst: epoch === 1,
      ...(creation.container
        ? { container: { ...containerLaunch(creation.container, creation.resolver), network } }
        : {}),
      report: (event, data) => write(() => ledger.record(event, data)),
      signal,
    })
    failpoint('launch.started')
    await noteLaunch(launch)
    failpoint('launch.noted')
    return worker
  } catch (error) {
    // The caller that aborted the launch knows the reason.
    if (signal.aborted) return interrupted()
    if (!(error instanceof ResolveError)) throw error
    if (error.code === 'setup_failed') {
      const { step, total } = error.details
      await write(() =>
        ledger.record('platform.setup.failed', {
          cause: 'setup_commands',
          error: error.message,
          stage: `${step}/${total}`,
        }),
      )
    }
    await write(() => ledger.record('platform.worker.failed', { cause: error.code, error: error.message }))
    return failed(error.code, error.message)
  }
}

/** The ending of a worker that ended before it was ready, or refused to initialize. */
export async function failedToBegin(
  { ledger, driver, write, isToEnd }: Pick<Launch, 'ledger' | 'driver' | 'write'> & { isToEnd: boolean },
  worker: Worker,
  came: unknown,
): Promise<Ending> {
  const hasEnded = came === 'ended'
  const detail = hasEnded
    ? describeExit(worker, driver, ledger.redactor, 'before it was ready')
    : String((came as Error).message)
  if (!isToEnd) await write(() => ledger.record('platform.worker.failed', { cause: 'initialize', error: detail }))
  return failed(hasEnded ? 'worker_exited' : 'initialize_failed', detail)
}

async function noteLaunch({ ledger, write }: Launch): Promise<void> {
  const { creation, wantedIncarnation } = ledger.story
  const data = { incarnation: wantedIncarnation, executor: creation.executor, events_offset: ledger.sourceEnd }
  await write(() => ledger.record('platform.worker.launched', data))
}

function interrupted(): Ending {
  return failed('interrupted', 'The launch was ended.')
}

function failed(code: string, detail: string): Ending {
  return { status: 'failed', output: null, error: { code, detail } }
}
