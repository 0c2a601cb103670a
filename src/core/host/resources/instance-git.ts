/**
 * The git server of an instance, kept running by its host (docs/git.md, The git server): starts or finds it, follows it, and journals its
 * pull requests; {@link file://./pushed-work.ts} brings its pushes home. The server is replaceable: a lost directory is made again.
 */
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorCode, fail, ResolveError } from '../../errors.ts'
import { giveTo } from '../../files/give-to.ts'
import { writeWholeSync } from '../../files/write-whole.ts'
import { hostRepoPath } from '../../git/host-layout.ts'
import type { GitServerNotice, HostDoor } from '../../git-server/host-door.ts'
import { pullOfLine, pullsAgain } from '../../git-server/pulls-told.ts'
import { gitServerPlaces, prepareGitServer } from '../../git-server/server-places.ts'
import { GIT_SERVER_RESTARTS_MAX, GIT_SERVER_RESTARTS_MS, GIT_SERVER_RETRY_MS } from '../../limits.ts'
import type { CreationRecord } from '../../protocol/journal.ts'
import type { SandboxNetwork } from '../../worker/sandbox-network.ts'
import { copyForServer } from '../../workspace/host-repository.ts'
import { wantsGitServer } from '../launch/config.ts'
import type { GitSeat } from '../launch/prepare-workspace.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { GitNetwork } from './git-network.ts'
import {
  forgetGitToken,
  type GitServerDriver,
  gitServerDriver,
  makeGitToken,
  readGitToken,
  toolsDirectory,
} from './git-server-driver.ts'
import { isUp, PushedWork } from './pushed-work.ts'

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
  readonly network: GitNetwork
  readonly #parts: InstanceGitParts
  readonly #creation: CreationRecord
  readonly #directory: string
  readonly #places: ReturnType<typeof gitServerPlaces>
  readonly #tokenFile: string
  readonly #driver: GitServerDriver
  readonly #pushed: PushedWork
  /** Aborted when this host releases the instance. */
  readonly #closed = new AbortController()
  /** Aborted when the server is to be stopped, or this host releases the instance. */
  #attending = new AbortController()
  #attended: Promise<void> | undefined
  #access: GitServerAccess | undefined
  #door: HostDoor | undefined
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
    this.network = new GitNetwork(this.#creation, home)
    const { signal } = this.#closed
    this.#pushed = new PushedWork({
      ...parts,
      directory: this.#directory,
      signal,
      warn: (...said) => this.#warn(...said),
    })
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
      await this.network.open(network)
      await this.#reach(token)
    } catch (error) {
      if (!(error instanceof ResolveError) || KEPT_CODES.includes(error.code)) throw error
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
    await this.#pushed.settled()
  }

  /** Called after {@link fetchLast}: the server is stopped. A resumed instance starts it again with the same token. */
  async rest(): Promise<void> {
    const token = readGitToken(this.#tokenFile)
    if (!this.isWanted || token === undefined || this.#closed.signal.aborted) return
    await this.#driver.stop(token).catch(() => undefined)
    await this.network.remove().catch(() => undefined)
    this.#access = undefined
    this.#door = undefined
  }

  /** The instance has ended: its token opens nothing any more. */
  forget(): void {
    forgetGitToken(this.#tokenFile)
  }

  // Reach it

  async #reach(token: string): Promise<void> {
    await this.network.open(async () => undefined)
    await this.#mend(token)
    const { door, baseUrl } = await this.#driver.open(token, this.network.name)
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
    const copy = await copyForServer(hostRepoPath(this.#directory, name), name, join(stage, 'server'), signal)
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
      if (this.#door === undefined || !(await isUp(this.#door))) {
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
    const server = await this.#served()
    if (server === undefined) return
    const { door, from } = server
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

  /** The running server, the line that the journal lacks first, and the one after the server's last; undefined where it does not run. */
  async #served(): Promise<{ door: HostDoor; from: number; next: number } | undefined> {
    const door = this.#door
    const health = await door?.health()
    if (door === undefined || health === undefined) return undefined
    const { next } = health
    return { door, from: Math.min(this.#parts.ledger.story.git?.next ?? 0, next), next }
  }

  /** The lines that no follower has told yet, at the end. */
  async #readLines(): Promise<void> {
    const server = await this.#served()
    if (server === undefined || server.from === server.next) return
    const { door, from, next } = server
    const end = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(LINES_LIMIT_MS)])
    for await (const notice of door.follow(from, end)) {
      await this.#take(notice, door)
      if (notice.kind === 'line' && notice.next >= next) return
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

  async #fetch(repo: string): Promise<void> {
    await this.#pushed.fetch(repo, () => {
      const [door, access] = [this.#door, this.#access]
      return door === undefined || access === undefined ? undefined : { door, token: access.token }
    })
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
}

const KEPT_CODES: readonly ErrorCode[] = ['docker_unreachable', 'git_server_failed']
const LINES_LIMIT_MS = 10_000
