/** Gets an instance its worker: adopts the one of an earlier host, or starts a new one (architecture, decision 2). */
import { ResolveError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { STATUS_FILE } from '../../protocol/coordination.ts'
import type { InstanceConfig } from '../../protocol/instance.ts'
import type { CoordinationDirectory, Driver, LaunchPlan, SetupFailure, Worker } from '../../worker/worker.ts'
import { withBundles, withGitServer, withWorkspace, writeConfig } from '../launch/config.ts'
import { containerLaunch } from '../launch/container-launch.ts'
import { prepareBundles } from '../launch/prepare-bundles.ts'
import { prepareWorkspace } from '../launch/prepare-workspace.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { InstanceResources } from '../resources/instance-resources.ts'
import { type Ending, isResumable, pausedByLoss } from './outcome.ts'
import { describeExit, hasCheckpoint, hasStatusCheckpoint } from './run-result.ts'
import { requireCoordination } from './unusable-coordination.ts'

export interface Launch {
  home: string
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
  /** Asks the resolver, once its setup is done, whether it takes the input (R48). Returns the config with the input. */
  check: (signal: AbortSignal) => Promise<InstanceConfig>
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
    launch.resources.git.reopen()
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
  const { ledger, driver, coordination, epoch, write, signal, resources } = launch
  const { creation, wantedIncarnation } = ledger.story
  // Later, the creation has what container_setup added (R44).
  const planOf = (reportedStages: number): LaunchPlan => ({
    command: creation.container?.command ?? creation.resolver.manifest.command,
    directory: creation.resolver.dir,
    environment: creation.environment,
    incarnation: wantedIncarnation,
    isFirst: epoch === 1,
    ...(creation.container ? { container: containerLaunch(creation.container, creation.resolver) } : {}),
    reportedStages,
    report: (event, data) => write(() => ledger.record(event, data)),
    signal,
  })
  try {
    const isChecked = creation.unchecked !== true
    const config = isChecked ? launch.config : await setUpAndCheck(launch, planOf(0))
    const { egress, git } = resources
    const openServer = git.isWanted ? () => git.open(() => egress.open()) : undefined
    const { token } = config.git_provider
    await prepareWorkspace({ ...launch, token, openServer })
    await warnOfSetupNotRun(launch)
    const bundles = await prepareBundles({ ...launch, token })
    // An old result would end the new run at once (R21); a checkpoint is what it resumes from.
    if (!hasStatusCheckpoint(coordination)) coordination.remove(STATUS_FILE)
    const whole = withBundles(withWorkspace(config, ledger.story.repos, coordination), bundles.entries)
    writeConfig(coordination, withGitServer(whole, git.access))
    failpoint('launch.configured')
    const network = git.network.within(await egress.open())
    // A driver with setup also ends what an earlier host left of it.
    if (signal.aborted && driver.prepare === undefined) return interrupted()
    const plan = planOf(isChecked ? 0 : 1)
    const { container } = plan
    const worker = await driver.start(coordination, {
      ...plan,
      environment: { ...git.environment, ...plan.environment },
      tools: git.tools,
      bundles: bundles.directories,
      ...(container && { container: { ...container, ...network } }),
    })
    failpoint('launch.started')
    await noteLaunch(launch)
    failpoint('launch.noted')
    return worker
  } catch (error) {
    // The caller that aborted the launch knows the reason.
    if (signal.aborted) return interrupted()
    if (!(error instanceof ResolveError)) throw error
    if (error.code === 'form_invalid') return failed(error.code, error.errors.join('\n'))
    if (error.code === 'schedule_secret') return failed(error.code, error.message)
    const setup = workspaceFailure(error) ?? (creation.executor === 'docker' ? setupFailure(error) : undefined)
    if (setup !== undefined)
      await write(() => ledger.record('platform.setup.failed', { ...setup, error: error.message }))
    await write(() => ledger.record('platform.worker.failed', { cause: error.code, error: error.message }))
    return failed(error.code, error.message)
  }
}

/** R48: what the manifest wants is set up; then the resolver is asked whether it takes the input. */
async function setUpAndCheck({ driver, signal, check }: Launch, plan: LaunchPlan): Promise<InstanceConfig> {
  await driver.prepare?.(plan)
  return await check(signal)
}

/** A local worker runs in the environment of its host: the setup of the manifest is for a container. */
async function warnOfSetupNotRun({ ledger, write }: Launch): Promise<void> {
  const { executor, resolver } = ledger.story.creation
  const value = resolver.manifest.container?.setup_commands?.length ?? 0
  if (executor !== 'local' || value === 0) return
  const detail = `the local executor does not run the setup of the manifest (${value} ${value === 1 ? 'step' : 'steps'})`
  await write(() => ledger.record('platform.watchdog.warning', { kind: 'setup_not_run', value, limit: 0, detail }))
}

/** A repository that could not be cloned, or a git server that could not be started. */
function workspaceFailure({ code, details }: ResolveError): Omit<SetupFailure, 'error'> | undefined {
  if (code === 'bundle_failed') return { cause: 'repo_clone', stage: String(details['bundle'] ?? 'bundle') }
  if (code === 'git_server_failed') return { cause: 'git_sidecar', stage: 'git server' }
  const isRepo = code.startsWith('repo_') || code === 'git_missing'
  return isRepo ? { cause: 'repo_clone', stage: String(details['repo'] ?? 'workspace') } : undefined
}

/** The cause of a setup that failed (R17); undefined for an error of the resolver itself. */
function setupFailure({ code, details }: ResolveError): Omit<SetupFailure, 'error'> | undefined {
  switch (code) {
    case 'setup_failed':
      return { cause: 'setup_commands', stage: `${details['step']}/${details['total']}` }
    case 'image_missing':
    case 'mount_refused':
    case 'container_refused':
    case 'docker_unreachable':
    case 'launch_failed':
      return { cause: 'container_init', stage: 'container' }
    case 'setup_malformed':
    case 'environment_refused':
    case 'source_invalid':
    case 'manifest_invalid':
      return { cause: 'manifest_parse', stage: 'container_setup' }
    default:
      return undefined
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
