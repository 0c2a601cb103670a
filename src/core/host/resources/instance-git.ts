/**
 * The git server of an instance, kept running by its host (docs/git.md, The git server): starts or finds it, brings every push into the
 * host's own bare repository, and journals pushes and pull requests. The server is replaceable: a lost directory is made again.
 */
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail, ResolveError } from '../../errors.ts'
import { writeWholeSync } from '../../files/write-whole.ts'
import { GIT_SERVER_ALIAS } from '../../git-server/container-server.ts'
import type { GitServerNotice, HostDoor } from '../../git-server/host-door.ts'
import { pullOfLine, pullsAgain } from '../../git-server/pulls-told.ts'
import { gitServerPlaces, prepareGitServer } from '../../git-server/server-places.ts'
import {
  GIT_REFS_TOLD_MAX,
  GIT_SERVER_RESTARTS_MAX,
  GIT_SERVER_RESTARTS_MS,
  GIT_SERVER_RETRY_MS,
} from '../../limits.ts'
import type { CreationRecord } from '../../protocol/journal.ts'
import { giveTo } from '../../worker/coordination-directory.ts'
import { openNetwork, removeNetwork } from '../../worker/egress/network.ts'
import { homeLabel } from '../../worker/engine/container-places.ts'
import { theEngine } from '../../worker/engine/engine.ts'
import { NO_NETWORK, type SandboxNetwork } from '../../worker/sandbox-network.ts'
import { copyForServer } from '../../workspace/host-repository.ts'
import { wantsGitServer } from '../launch/config.ts'
import type { GitSeat } from '../launch/prepare-workspace.ts'
import type { Ledger } from '../ledger/ledger.ts'
import {
  forgetGitToken,
  type GitServerDriver,
  gitServerDriver,
  makeGitToken,
  readGitToken,
  toolsDirectory,
} from './git-server-driver.ts'
import { fetchPushed, removeStaleLocks, untoldRefs } from './pushed-refs.ts'

export interface InstanceGitParts {
  ledger: Ledger
  home: string
  write: (line: () => void) => Promise<void>
  /** Answers a worker that asks to promote; all that it pushed before is in the host's repository then. Never throws because of it. */
  promote: (repo: string, body: unknown) => Promise<{ status: number; body: Readonly<Record<string, unknown>> }>
}

/** How a worker reaches its git server. */
export interface GitServerAccess {
  baseUrl: string
  token: string
}

export class InstanceGit {
  /** Whether the resolver asked for a git server. */
  readonly isWanted: boolean
  readonly #parts: InstanceGitParts
  readonly #creation: CreationRecord
  readonly #directory: string
  readonly #places: ReturnType<typeof gitServerPlaces>
  readonly #tokenFile: string
  readonly #driver: GitServerDriver
  /** Aborted when this host releases the instance. */
  readonly #closed = new AbortController()
  /** Aborted when the server is to be stopped, or this host releases the instance. */
  #attending = new AbortController()
  #attended: Promise<void> | undefined
  #fetches: Promise<void> = Promise.resolve()
  #access: GitServerAccess | undefined
  #door: HostDoor | undefined
  #network: { name: string; gateway: string } | undefined
  readonly #warned = new Set<string>()

  constructor(parts: InstanceGitParts) {
    const { ledger, home } = parts
    this.#parts = parts
    this.#creation = ledger.story.creation
    this.isWanted = wantsGitServer(this.#creation)
    this.#directory = join(ledger.directory, 'git')
    this.#places = gitServerPlaces(this.#directory)
    this.#tokenFile = join(this.#directory, 'token')
    this.#driver = gitServerDriver(this.#creation, home, this.#places)
    const token = this.isWanted ? readGitToken(this.#tokenFile) : undefined
    if (token !== undefined) ledger.hide([token])
  }

  /** Undefined before it is open, and where there is none. */
  get access(): GitServerAccess | undefined {
    return this.#access
  }

  /** For a resolver that asks for `gitea` by this name; config.json has the same (R45). Setup commands do not get it. */
  get environment(): Record<string, string> {
    const { resolver, workspace } = this.#creation
    const isGitea = resolver.manifest.gitea === true || workspace?.gitea === true
    if (this.#access === undefined || !isGitea) return {}
    return { GITEA_URL: this.#access.baseUrl, GITEA_TOKEN: this.#access.token }
  }

  /** The directory of create-pr on this machine; undefined where there is no git server. */
  get tools(): string | undefined {
    return this.isWanted ? toolsDirectory() : undefined
  }

  /** Called before a worker is started; `network` is that of its egress. Throws `git_server_failed`, `docker_unreachable`. */
  async open(network: () => Promise<SandboxNetwork | undefined>): Promise<GitSeat> {
    const token = readGitToken(this.#tokenFile) ?? makeGitToken(this.#tokenFile)
    this.#parts.ledger.hide([token])
    try {
      await this.#openNetwork(network)
      await this.#reach(token)
    } catch (error) {
      if (!(error instanceof ResolveError) || error.code === 'docker_unreachable') throw error
      if (error.code === 'git_server_failed') throw error
      throw fail('git_server_failed', { reason: error.message.replace(/\.$/, '') }, { cause: error })
    }
    this.#attend()
    const { baseUrl } = this.#access as GitServerAccess
    return {
      baseUrl,
      helper: `${this.#driver.tools}/git-credential-resolve`,
      place: async (name, stage, signal) => {
        await this.#place(name, stage, signal)
        await this.#door?.addRepository(name)
      },
    }
  }

  /** Called for an adopted worker: its server went on without a host, or is started again. */
  reopen(): void {
    const token = readGitToken(this.#tokenFile)
    const baseUrl = this.#driver.lastUrl()
    if (!this.isWanted || token === undefined || baseUrl === undefined) return
    this.#access = { baseUrl, token }
    this.#attend()
  }

  /** The network of the worker, with its git server in it; `joins`: a further network for its container. */
  within(network: SandboxNetwork | undefined): { network: SandboxNetwork | undefined; joins?: string } {
    if (this.#network === undefined || network === undefined) return { network }
    const { name, gateway } = this.#network
    const { mode, environment } = network
    if (mode === NO_NETWORK.mode) {
      const dnsOptions = ['timeout:1', 'attempts:1']
      return { network: { mode: name, dns: [gateway], dnsOptions, environment } }
    }
    if (mode !== name) return { network, joins: name }
    const own = ['NO_PROXY', 'no_proxy'].map((key) => [key, `${environment[key] ?? ''},${GIT_SERVER_ALIAS}`])
    return { network: { ...network, environment: { ...environment, ...Object.fromEntries(own) } } }
  }

  /** Leaves the server running, for the next host. */
  close(): void {
    this.#closed.abort()
    this.#attending.abort()
  }

  /** Called when no worker is left: what was pushed last and the pull requests are told. */
  async fetchLast(): Promise<void> {
    const token = readGitToken(this.#tokenFile)
    if (!this.isWanted || token === undefined) return
    this.#attending.abort()
    await this.#attended
    if (this.#parts.ledger.story.repos !== undefined) {
      // What was acknowledged before the server died is on its disk.
      await this.#reach(token).catch(() => undefined)
      await this.#readLines().catch(() => undefined)
      await this.#fetchAll()
    }
    await this.#fetches
  }

  /** Called after {@link fetchLast}: the server is stopped. A resumed instance starts it again with the same token. */
  async rest(): Promise<void> {
    const token = readGitToken(this.#tokenFile)
    if (!this.isWanted || token === undefined || this.#closed.signal.aborted) return
    await this.#driver.stop(token).catch(() => undefined)
    if (this.#creation.executor === 'docker') await removeNetwork(theEngine(), this.#owner).catch(() => undefined)
    this.#access = undefined
    this.#door = undefined
  }

  /** The instance has ended: its token opens nothing any more. */
  forget(): void {
    forgetGitToken(this.#tokenFile)
  }

  // Reach it

  /** An allowlist has a network of its own; beside the others there is one of the two alone. */
  async #openNetwork(network: () => Promise<SandboxNetwork | undefined>): Promise<void> {
    if (this.#creation.executor !== 'docker' || this.#network !== undefined) return
    const kind = this.#creation.resolver.manifest.container?.network ?? 'open'
    if (kind === 'allowlist') {
      const { mode = '', dns = [] } = (await network()) ?? {}
      this.#network = { name: mode, gateway: dns[0] ?? '' }
      return
    }
    this.#network = await openNetwork(theEngine(), this.#owner)
  }

  async #reach(token: string): Promise<void> {
    if (this.#creation.executor === 'docker') await this.#openNetwork(async () => undefined)
    await this.#mend(token)
    const { door, baseUrl } = await this.#driver.open(token, this.#network?.name ?? '')
    this.#door = door
    this.#access = { baseUrl, token }
  }

  /** Makes the directory of the server again from the repositories of the host, where it was lost. */
  async #mend(token: string): Promise<void> {
    const { story } = this.#parts.ledger
    const lost = this.#names.filter((name) => !existsSync(join(this.#places.repos, `${name}.git`, 'HEAD')))
    if (lost.length === 0) return
    await this.#driver.stop(token)
    const { owner } = this.#driver
    prepareGitServer(this.#places, token, owner)
    const pulls = join(this.#places.state, 'pulls.jsonl')
    if (!existsSync(pulls) && story.git !== undefined)
      writeWholeSync(
        pulls,
        pullsAgain(
          story.git.pulls.map((pull) => ({ ...pull, next: 0 })),
          story.git.next,
        ),
        { durable: true, owner },
      )
    const stage = join(this.#directory, 'stage', 'again')
    try {
      for (const name of lost) await this.#place(name, stage, this.#closed.signal)
    } finally {
      await rm(stage, { recursive: true, force: true })
    }
    await this.#warn('git_server_lost', lost.length, 'the directory of the git server was lost and made again')
  }

  /** Copies the host's repository into the directory of the server. */
  async #place(name: string, stage: string, signal: AbortSignal): Promise<void> {
    const copy = await copyForServer(join(this.#directory, `${name}.git`), name, join(stage, 'server'), signal)
    if (this.#driver.owner !== undefined) await giveTo(copy, this.#driver.owner)
    const place = join(this.#places.repos, `${name}.git`)
    await mkdir(this.#places.repos, { recursive: true })
    await rm(place, { recursive: true, force: true })
    await rename(copy, place)
  }

  // Follow it

  #attend(): void {
    if (this.#attended !== undefined) return
    this.#attended = this.#attendUntil(this.#attending.signal)
      .catch((error: unknown) => process.emitWarning(this.#parts.ledger.redactor.text(String(error))))
      .finally(() => {
        this.#attended = undefined
      })
  }

  async #attendUntil(signal: AbortSignal): Promise<void> {
    const starts: number[] = []
    const wait = async (ms: number) => {
      await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
    }
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      if (!isFirst) await wait(GIT_SERVER_RETRY_MS)
      if (signal.aborted) return
      const isUp = (await this.#door?.health().catch(() => undefined)) !== undefined
      if (!isUp || this.#door === undefined) {
        const nowMs = Date.now()
        const recent = starts.filter((at) => nowMs - at < GIT_SERVER_RESTARTS_MS)
        if (recent.length >= GIT_SERVER_RESTARTS_MAX) {
          await this.#warn('git_server', recent.length, 'the git server ended again and again', GIT_SERVER_RESTARTS_MAX)
          await wait(GIT_SERVER_RESTARTS_MS)
          starts.length = 0
          continue
        }
        // The first look of an adopting host usually finds it running.
        if (!isFirst) starts.push(nowMs)
        const { token } = this.#access as GitServerAccess
        const isReached = await this.#reach(token).then(
          () => true,
          () => false,
        )
        if (!isReached) continue
      }
      await this.#follow(signal).catch(() => undefined)
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const door = this.#door
    const health = await door?.health()
    if (door === undefined || health === undefined) return
    const from = Math.min(this.#parts.ledger.story.git?.next ?? 0, health.next)
    let isFollowing = false
    for await (const notice of door.follow(from, signal)) {
      if (signal.aborted) return
      // From the first beat on every push is told; those before it are found by a fetch of all.
      if (notice.kind === 'beat' && !isFollowing) {
        isFollowing = true
        void this.#fetchAll()
      } else await this.#take(notice, door)
    }
  }

  /** The lines that no follower has told yet, at the end. */
  async #readLines(): Promise<void> {
    const door = this.#door
    const health = await door?.health()
    if (door === undefined || health === undefined) return
    const from = Math.min(this.#parts.ledger.story.git?.next ?? 0, health.next)
    if (from === health.next) return
    const end = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(LINES_LIMIT_MS)])
    for await (const notice of door.follow(from, end)) {
      await this.#take(notice, door)
      if (notice.kind === 'line' && notice.next >= health.next) return
    }
  }

  async #take(notice: GitServerNotice, door: HostDoor): Promise<void> {
    const { ledger, write } = this.#parts
    switch (notice.kind) {
      case 'push':
        if (this.#names.includes(notice.repo)) void this.#fetch(notice.repo)
        return
      case 'promotion':
        if (this.#names.includes(notice.repo)) void this.#answer(notice, door)
        return
      case 'line': {
        const known = (repo: string, number: number) =>
          ledger.story.git?.pulls.find((pull) => pull.repo === repo && pull.number === number)
        const pull = pullOfLine(notice.line, notice.next, this.#access?.baseUrl ?? '', known)
        if (pull === undefined || !this.#names.includes(pull.repo)) return
        // Its commits first.
        await this.#fetch(pull.repo)
        if (!this.#closed.signal.aborted) await write(() => ledger.record('platform.git.pull_request', pull))
        return
      }
      case 'beat':
        return
    }
  }

  async #answer({ id, repo, request }: Extract<GitServerNotice, { kind: 'promotion' }>, door: HostDoor): Promise<void> {
    await this.#fetch(repo)
    const { status, body } = await this.#parts.promote(repo, request)
    // Where this host is released, the next one is told of the request again.
    if (!this.#closed.signal.aborted) await door.answerPromotion(id, status, body).catch(() => undefined)
  }

  async #fetchAll(): Promise<void> {
    await Promise.all(this.#names.map((name) => this.#fetch(name)))
  }

  /** One after the other; never rejects. */
  async #fetch(repo: string): Promise<void> {
    this.#fetches = this.#fetches.then(() => this.#fetchNow(repo)).catch(() => undefined)
    await this.#fetches
  }

  async #fetchNow(repo: string): Promise<void> {
    const { signal } = this.#closed
    const [door, access] = [this.#door, this.#access]
    const place = { repo, bare: join(this.#directory, `${repo}.git`), signal }
    if (door === undefined || access === undefined || signal.aborted || !existsSync(place.bare)) return
    const relay = await door.openRelay()
    let trouble: string | undefined
    try {
      trouble = await fetchPushed(place, relay.baseUrl, access.token)
      // The git of a host that was killed may hold a lock of this repository for a moment yet, or may have left it.
      for (let tries = 0; trouble !== undefined && tries < FETCH_TRIES && !signal.aborted; tries += 1) {
        if ((await door.health().catch(() => undefined)) === undefined) break
        await sleep(GIT_SERVER_RETRY_MS * 2 ** tries, undefined, { signal, ref: false }).catch(() => undefined)
        await removeStaleLocks(place.bare)
        trouble = await fetchPushed(place, relay.baseUrl, access.token)
      }
    } finally {
      relay.close()
    }
    if (signal.aborted) return
    // A server that ended meanwhile is started again, and then all is fetched.
    if (trouble !== undefined && (await door.health().catch(() => undefined)) !== undefined)
      await this.#warn('git_fetch', 1, `what was pushed to ${repo} can't be fetched: ${trouble}`)
    await this.#tell(place)
  }

  async #tell(place: { repo: string; bare: string; signal: AbortSignal }): Promise<void> {
    const { ledger, write } = this.#parts
    const told = (ref: string) =>
      ledger.story.git?.pushes.find((one) => one.repo === place.repo && one.ref === ref)?.commit
    for (const push of await untoldRefs(place, told)) {
      if (place.signal.aborted) return
      const isNew = told(push.ref) === undefined
      if (isNew && (ledger.story.git?.pushes.length ?? 0) >= GIT_REFS_TOLD_MAX) {
        await this.#warn(
          'git_refs',
          GIT_REFS_TOLD_MAX,
          'pushes to further branches and tags are not told',
          GIT_REFS_TOLD_MAX,
        )
        return
      }
      await write(() => ledger.record('platform.git.pushed', push))
    }
  }

  /** Once for each host and text. */
  async #warn(kind: string, value: number, detail: string, limit = 0): Promise<void> {
    if (this.#warned.has(detail) || this.#closed.signal.aborted) return
    this.#warned.add(detail)
    const { ledger, write } = this.#parts
    await write(() => ledger.record('platform.watchdog.warning', { kind, value, limit, detail })).catch(() => undefined)
  }

  /** The repositories that are cloned. */
  get #names(): string[] {
    return (this.#parts.ledger.story.repos ?? []).map(({ name }) => name)
  }

  get #owner() {
    return { instance: this.#creation.instance_id, home: homeLabel(this.#parts.home), role: 'git' as const }
  }
}

const LINES_LIMIT_MS = 10_000
const FETCH_TRIES = 4
