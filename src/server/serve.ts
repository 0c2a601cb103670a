/**
 * The program behind `serve`: it opens a home, its tokens, the app, a port, and the supervisor that adopts instances without
 * a host. Damaged parts of the home are reported and skipped, and the rest is served (reliability F22).
 */
import { fail, ResolveError } from '../core/errors.ts'
import {
  IdempotencyKeys,
  isExpired,
  LiveInstances,
  type LocalPlatform,
  lostWorker,
  openLocalPlatform,
  openTokens,
  startReaper,
  type Tokens,
} from '../core/index.ts'
import { LOST_RESUME_MAX } from '../core/limits.ts'
import { isLoopback } from '../core/protocol/http.ts'
import { tokenAccess } from './access/access.ts'
import { hostGuard } from './access/guard.ts'
import { openSignIn } from './access/sign-in.ts'
import { buildApp } from './app.ts'
import { listen } from './http/listen.ts'
import { EventStreams } from './http/sse.ts'
import { type Log, type LogOptions, openLog } from './observe/log.ts'
import { openMetrics } from './observe/metrics.ts'
import { observe } from './observe/observe.ts'
import { openTraces } from './observe/traces.ts'
import { startRetention } from './retention.ts'
import { startSchedules } from './schedules.ts'
import { socketApi } from './socket-api.ts'
import { type Supervisor, startSupervisor } from './supervisor.ts'

export interface ServeOptions {
  home: string
  /** The folder with one folder per built-in resolver. */
  builtins: string
  host: string
  /** 0 for any free port. */
  port: number
  /** More host names that requests may use. */
  allowedHosts?: readonly string[]
  version: string
  /** Resume instances whose worker was lost, without a person (R58). */
  resumeLost?: boolean
  /** The folder of the built page. */
  page?: string
  /** How many instances of the home may have a worker at the same time (R70). */
  maxRunning?: number | undefined
  /** Ended instances older than this are removed (R71). */
  keepMs?: number | undefined
  /** Take archives of resolvers from clients with an admin token (R74). */
  uploads?: boolean
  log?: LogOptions
  env?: NodeJS.ProcessEnv
}

/** How often the token file is checked while no request uses a token. */
const LOOK_MS = 3_000

export interface Serving {
  url: string
  /** A new link that signs a browser in, once and within 15 minutes. */
  signInLink(): string
  /**
   * Lets requests finish and releases the hosted instances; their workers keep running. Returns how many instances are left
   * without a host.
   */
  close(): Promise<number>
}

/**
 * Throws `address_refused`, `address_taken`, `home_unusable`, `tokens_broken`, `usage`; everything opened so far is closed
 * then.
 */
export async function startServing(options: ServeOptions): Promise<Serving> {
  const { home, builtins, host, port, version, env = process.env } = options
  const closing = new Closing()
  try {
    const guard = hostGuard({ boundHost: host, allowedHosts: options.allowedHosts ?? [] })
    const tokens = openTokens(home)
    if (!isLoopback(host)) refuseWithoutToken(tokens, host)
    const log = openLog(options.log)
    const { logger } = log
    closing.add(async () => log.flush())
    const findings = new Findings((message) => logger.warn(message))

    const platform = await openLocalPlatform({ home, builtins, socketApi, maxRunning: options.maxRunning })
    closing.add(() => platform.releaseAndClose())
    const aside = await tokens.quarantine()
    if (aside !== undefined)
      findings.add('old tokens', `The tokens could not be read: no old one is good any more. ${aside}`)
    const lookAtTokens = () => {
      const problem = tokens.problem()
      if (problem === null) findings.remove('tokens')
      else findings.add('tokens', `${problem.message} No token is valid until the file is fixed.`)
    }
    // Removes containers, networks and sandboxes that outlived their instance; without an engine there are none.
    const stopReaping = startReaper(home)
    closing.add(async () => stopReaping())
    const looking = setInterval(lookAtTokens, LOOK_MS).unref()
    closing.add(async () => clearInterval(looking))
    const warning = tokens.warning()
    if (warning !== null) logger.warn(warning)
    const signIn = await openSignIn(tokens)
    closing.add(() => signIn.close())

    const attending: { supervisor?: Supervisor } = {}
    const streams = new EventStreams()
    const metrics = openMetrics({
      streams: () => ({ open: streams.size, sent: streams.sent }),
      hosted: () => platform.hosted().length,
      instances: () => attending.supervisor?.counts() ?? {},
      adoptions: () => attending.supervisor?.adoptions() ?? 0,
    })
    const traces = await openTraces({
      env,
      version,
      onLost: () => logger.warn("Traces can't be sent: spans are lost."),
    })
    closing.add(async () => traces?.close())
    const observation = observe([log.requests, metrics.requests, ...(traces === undefined ? [] : [traces.requests])])
    const app = await buildApp({
      ...{ platform, guard, signIn, logger, metrics, streams },
      access: tokenAccess(tokens),
      keys: new IdempotencyKeys(home),
      observe: observation.watch,
      health: () => ({ status: findings.isEmpty ? 'ok' : 'degraded' }),
      ...(options.page === undefined ? {} : { page: options.page }),
      uploads: options.uploads === true,
    })
    if (isWildcard(host) && (options.allowedHosts ?? []).length === 0) logger.warn(WILDCARD)
    const listening = await listen(app, {
      ...{ host, port },
      observe: observation.begin,
      onRefused: ({ code, httpStatus }) => logger.info({ status: httpStatus, code }, 'not a request'),
    })
    closing.add(() => listening.close())

    if (options.keepMs !== undefined) {
      const stopKeeping = startRetention({
        keepMs: options.keepMs,
        prune: (older_than_ms) => platform.prune({ older_than_ms }),
        say: (message) => logger.info(message),
        warn: (message) => logger.warn(message),
      })
      closing.add(stopKeeping)
    }
    const stopSchedules = startSchedules({
      home,
      platform,
      onNews: (sentence, { outcome, instance_id: instance, schedule }) => {
        const fields = { schedule, ...(instance === null ? {} : { instance }) }
        if (outcome === 'started') logger.info(fields, sentence)
        else logger.warn(fields, sentence)
      },
      onProblem: (message) => {
        if (message === null) findings.remove('schedules')
        else findings.add('schedules', `Schedules are not run: ${message}`)
      },
    })
    closing.add(stopSchedules)
    const catalog = await platform.catalog()
    if (options.uploads === true) await platform.clearUploads()
    const lookAtCatalog = () => {
      const problem = catalog.problem()
      if (problem === null) findings.remove('catalog')
      else findings.add('catalog', `${problem.message} What was read of it before is served.`)
    }
    const prepare = () =>
      platform.prepareAll((resolver, error) =>
        logger.warn(`${resolver} is not prepared: ${error instanceof Error ? error.message : String(error)}`),
      )
    lookAtCatalog()
    prepare().catch((error: unknown) => logger.warn(String(error)))
    const stopWatching = catalog.watch(() => {
      lookAtCatalog()
      logger.info(`The catalog changed: it has ${catalog.list().length} resolvers.`)
      prepare().catch((error: unknown) => logger.warn(String(error)))
    })
    closing.add(async () => stopWatching())
    platform.startNotifying()
    const supervisor = startSupervisor({
      platform,
      report: new LiveInstances(home, platform.index),
      ...(options.resumeLost === true ? { resumeLost: (id) => resumeLost(platform, id, logger) } : {}),
      onAdopted: (id) => logger.info({ instance: id }, `${id} had no host: adopted.`),
      onTrouble: (id, error) => logger.warn(id === '' ? {} : { instance: id }, troubleText(id, error)),
    })
    attending.supervisor = supervisor
    findings.ask(() => supervisor.troubled().length > 0)
    closing.add(() => supervisor.stop())

    return {
      url: listening.url,
      signInLink: () => `${listening.url}/#code=${signIn.code()}`,
      async close() {
        // Counted before they are released: each keeps running, and the next host adopts it.
        const left = platform.hosted().length
        await closing.run()
        return left
      },
    }
  } catch (error) {
    await closing.run()
    throw error
  }
}

/** Throws `resume_exhausted` after the third resume: the supervisor reports it once. */
async function resumeLost(platform: LocalPlatform, id: string, logger: Log['logger']): Promise<void> {
  const now = Date.now()
  const lost = lostWorker(await platform.story(id), now)
  if (lost === undefined || (!lost.isExhausted && now < lost.dueAt)) return
  try {
    await platform.resume(id, { lost: true })
  } catch (error) {
    // A person, or another server, was faster.
    if (error instanceof ResolveError && error.code === 'invalid_state') return
    throw error
  }
  logger.info(
    { instance: id },
    `${id} lost its worker: resumed from its checkpoint (${lost.resumes + 1} of ${LOST_RESUME_MAX}).`,
  )
}

/** Closes what was opened, in reverse order; a failing step does not keep the others from running. */
class Closing {
  readonly #steps: (() => Promise<unknown>)[] = []

  add(step: () => Promise<unknown>): void {
    this.#steps.push(step)
  }

  async run(): Promise<void> {
    for (const step of this.#steps.splice(0).reverse()) await step().catch(() => {})
  }
}

/** The damaged parts of the home: each is reported once, and `health` is `degraded` while there is any. */
class Findings {
  readonly #told = new Map<string, string>()
  readonly #tell: (message: string) => void
  readonly #others: (() => boolean)[] = []

  constructor(tell: (message: string) => void) {
    this.#tell = tell
  }

  add(what: string, message: string): void {
    if (this.#told.get(what) === message) return
    this.#told.set(what, message)
    this.#tell(message)
  }

  remove(what: string): void {
    this.#told.delete(what)
  }

  ask(other: () => boolean): void {
    this.#others.push(other)
  }

  get isEmpty(): boolean {
    return this.#told.size === 0 && !this.#others.some((isTroubled) => isTroubled())
  }
}

function troubleText(id: string, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error)
  if (id === '') return reason
  const isBroken = error instanceof ResolveError && error.code === 'journal_broken'
  return isBroken
    ? `${id} can't be read and is put aside: ${reason}`
    : `${id} has no host and can't be adopted: ${reason}`
}

/** R38, threats WEB-3: a server that other machines can reach must have at least one token. */
function refuseWithoutToken(tokens: Tokens, host: string): void {
  const now = Date.now()
  if (tokens.list().some((entry) => !isExpired(entry, now))) return
  throw fail('address_refused', {
    address: host,
    reason:
      'other machines can reach it and there is no token yet; create one with "resolve token create", or omit --host',
  })
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || host === '[::]'
}

const WILDCARD =
  'It listens on every address, but answers for localhost, 127.0.0.1 and [::1] alone: name the others with --allowed-host.'
