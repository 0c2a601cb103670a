/** Builds the software: its sources go into a fresh container, the commands of the plan run there, and the result becomes the image of the room. */
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { installedFile } from '../../files/installation.ts'
import { CHECK_BUILD_LIMIT_MS, CHECK_LOG_TAIL_CHARS } from '../../limits.ts'
import type { CheckPlan, Stage } from '../../protocol/check/reality-check.ts'
import type { Engine } from '../../worker/engine/engine.ts'
import { removeContainer } from '../../worker/engine/remove-container.ts'
import { type CommandOutcome, runInSandbox } from '../../worker/sandbox/sandbox-exec.ts'
import type { SandboxNetwork } from '../../worker/sandbox-network.ts'
import type { ToolNeed } from '../plan/found.ts'
import { APP, buildSpec, CACHE, type RoomOwner, STATIC_SERVER } from '../room/containers.ts'
import { commitContainer, startContainer } from '../room/room-engine.ts'
import { CheckEnd } from './check-end.ts'
import { sourceArchive } from './source-archive.ts'

export interface BuildParts {
  engine: Engine
  owner: RoomOwner
  image: string
  network: SandboxNetwork
  /** The hosts that the proxy refused meanwhile. */
  denied: () => readonly string[]
  /** Tells how a stage goes on. */
  step: <T>(name: string, work: () => Promise<T>) => Promise<T>
  /** A stage has printed this. */
  onLog: (stage: string, text: string) => void
  signal: AbortSignal
}

/** What npm and pip say where the registry cannot be reached: the software is not at fault. */
const NO_REGISTRY =
  /E(?:CONNREFUSED|CONNRESET|NOTFOUND|AI_AGAIN|TIMEDOUT|HOSTUNREACH|NETUNREACH)|E?5\d\d (?:Bad Gateway|Service Unavailable|Gateway)|Temporary failure in name resolution|Connection (?:refused|reset)|NewConnectionError|SELF_SIGNED_CERT/i

/** The id of the image. Throws a CheckEnd, `container_refused`, `docker_unreachable`. */
export async function buildSoftware(
  sources: string,
  { plan, needs }: { plan: CheckPlan; needs: readonly ToolNeed[] },
  parts: BuildParts,
): Promise<string> {
  const { engine, owner, image, network, signal, step } = parts
  const environment = { ...plan.env, RESOLVE_CACHE: CACHE, CI: '1' }
  const id = await startContainer(engine, buildSpec(owner, image, environment, network))
  try {
    const deadline = Date.now() + CHECK_BUILD_LIMIT_MS
    const run = (command: string, stdin?: Readable) =>
      runInSandbox(engine, id, {
        command: ['sh', '-c', command],
        directory: '/',
        stdin,
        limitMs: Math.max(1, deadline - Date.now()),
        signal,
      })
    await requireTools(image, needs, run)
    const unpacked = await run(`mkdir -p ${APP} ${CACHE} && tar -xf - -C ${APP}`, sourceArchive(sources))
    if (unpacked.exitCode !== 0)
      throw new CheckEnd('build', 'infrastructure', `The sources could not be unpacked: ${tailOf(unpacked)}`)
    const server = installedFile('templates/room/static-server.mjs')
    if (server !== undefined) await run(`cat > ${STATIC_SERVER}`, createReadStream(server))
    const inApp = (command: string) => `cd '${directoryOf(plan)}' && ${command}`
    const { fetch } = plan
    if (fetch !== null)
      await step('dependencies', async () =>
        judge('dependencies', fetch.command, await run(inApp(fetch.command)), parts),
      )
    const commands = [plan.install, plan.build].filter((command) => command !== null)
    if (commands.length > 0)
      await step('build', async () => {
        for (const command of commands) judge('build', command, await run(inApp(command)), parts)
      })
    return await commitContainer(engine, id, owner)
  } finally {
    await removeContainer(engine, id).catch(() => {})
  }
}

/** What is not there, or is too old, is said before anything of the software runs. */
async function requireTools(
  image: string,
  needs: readonly ToolNeed[],
  run: (command: string) => Promise<CommandOutcome>,
): Promise<void> {
  for (const { tool, range } of needs) {
    const { exitCode, stdout, stderr } = await run(versionCommand(tool))
    if (exitCode !== 0)
      throw new CheckEnd('plan', 'config', `The image "${image}" has no ${tool}, which the software needs`)
    const found = /\d+(?:\.\d+)*/.exec(`${stdout} ${stderr}`)?.[0]
    const wanted = range.replace(/^>=\s*/, '')
    if (found !== undefined && range !== '*' && isOlder(found, wanted))
      throw new CheckEnd(
        'plan',
        'config',
        `The software needs ${tool} ${wanted} or later; the image "${image}" has ${found}`,
      )
  }
}

function versionCommand(tool: string): string {
  const name = tool.replace(/[^\w.+-]/g, '')
  if (name === 'go') return 'go version'
  return name === 'java' || name === 'javac' ? `${name} -version` : `command -v ${name} && ${name} --version`
}

function isOlder(found: string, wanted: string): boolean {
  const [a, b] = [found, wanted].map((text) => text.split('.').map(Number)) as [number[], number[]]
  for (const [at, part] of b.entries()) {
    const own = a[at] ?? 0
    if (own !== part) return own < part
  }
  return false
}

export function directoryOf({ workdir }: CheckPlan): string {
  return workdir === '' || workdir === '.' ? APP : `${APP}/${workdir}`
}

function judge(stage: Stage, command: string, outcome: CommandOutcome, { denied, onLog }: BuildParts): void {
  const log = tailOf(outcome)
  onLog(stage, `$ ${command}\n${log}\n`)
  const hosts = denied()
  if (outcome.timedOut)
    throw new CheckEnd(stage, 'timeout', `"${command}" took longer than ${CHECK_BUILD_LIMIT_MS / 60_000} minutes`, log)
  if (outcome.exitCode === 0) return
  if (hosts.length > 0)
    throw new CheckEnd(
      stage,
      'config',
      `The ${stage} may not reach ${hosts.join(', ')}, and "${command}" ended with exit code ${outcome.exitCode}`,
      log,
    )
  const isOfNetwork = NO_REGISTRY.test(log) && stage === 'dependencies'
  const why = outcome.exitCode === null ? 'was ended' : `ended with exit code ${outcome.exitCode}`
  throw new CheckEnd(stage, isOfNetwork ? 'infrastructure' : 'software', `"${command}" ${why}`, log)
}

function tailOf({ stdout, stderr }: CommandOutcome): string {
  return `${stdout.trimEnd()}\n${stderr.trimEnd()}`.trim().slice(-CHECK_LOG_TAIL_CHARS)
}
