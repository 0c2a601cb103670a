/** Hosts of one home that are killed at random and replaced: two servers that consumers come to, and background hosts. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { installedFile } from '../../src/core/files/installation.ts'
import { isTerminal } from '../../src/core/protocol/status.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import { readRecord } from '../../src/core/store/record.ts'
import { type ServeProcess, startServe } from '../commands/serving.ts'

const SERVERS = 2
/** Servers are slow to start: most kills hit hosts in the background. */
const SERVER_SHARE = 0.15

export class HostHerd {
  kills = 0
  readonly #home: string
  readonly #random: () => number
  readonly #servers: (ServeProcess | undefined)[] = []
  readonly #ports: string[] = []
  readonly #hosts = new Set<ChildProcess>()
  readonly #starting = new Set<Promise<void>>()
  #isOver = false

  constructor(home: string, random: () => number) {
    this.#home = home
    this.#random = random
  }

  async open(): Promise<void> {
    await Promise.all(Array.from({ length: SERVERS }, (_, index) => this.#serve(index)))
  }

  /** Where one of the servers is, or was a moment ago. */
  url(): string {
    const port = this.#ports[Math.floor(Math.random() * this.#ports.length)]
    return `http://127.0.0.1:${port}`
  }

  /** Kills the host of a random instance, or a server, and starts another in its place. */
  async killOne(ids: readonly string[]): Promise<void> {
    const live = ids.filter((id) => !isTerminal(readRecord(instancePaths(this.#home, id)).status))
    const ownerOf = (id: string) => readOwner(instancePaths(this.#home, id).owners)?.process.pid ?? 0
    if (this.#random() < SERVER_SHARE) {
      const server = this.#servers[Math.floor(this.#random() * SERVERS)]
      if (server !== undefined) this.#kill(server.pid)
      return
    }
    const hosted = live.filter((id) => this.#isHost(ownerOf(id)))
    const pid = ownerOf(hosted[Math.floor(this.#random() * hosted.length)] ?? '')
    if (!this.#kill(pid)) return
    const orphans = live.filter((id) => ownerOf(id) === pid)
    // Some go together, some apart; the first to come adopts some: a server, or the server of a reader.
    const shares = Array.from({ length: 3 }, () => [] as string[])
    for (const id of orphans) shares[Math.floor(this.#random() * 3)]?.push(id)
    for (const share of shares.slice(0, 2)) if (share.length > 0) this.#host(share)
  }

  async close(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#starting)
    const pids = [...this.#servers.map((server) => server?.pid), ...[...this.#hosts].map(({ pid }) => pid)]
    for (const pid of pids) if (pid !== undefined && this.#isHost(pid)) process.kill(pid, 'SIGKILL')
  }

  /** Only a process of this home. */
  #kill(pid: number): boolean {
    if (!this.#isHost(pid)) return false
    process.kill(pid, 'SIGKILL')
    this.kills += 1
    return true
  }

  #isHost(pid: number): boolean {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
      return words.includes(this.#home) || names.includes(`RESOLVE_HOME=${this.#home}\0`)
    } catch {
      return false
    }
  }

  #host(ids: readonly string[]): void {
    const program = installedFile('host.js') as string
    const child = spawn(process.execPath, [program, this.#home, ...ids], { stdio: 'ignore' })
    this.#hosts.add(child)
    child.once('exit', () => this.#hosts.delete(child))
  }

  async #serve(index: number): Promise<void> {
    const server = await startServe(this.#home, ['--port', this.#ports[index] ?? '0', '--no-ui'])
    this.#ports[index] = new URL(server.url).port
    this.#servers[index] = server
    void server.ended.then(() => {
      this.#servers[index] = undefined
      if (this.#isOver) return
      const starting = this.#again(index)
      this.#starting.add(starting)
      void starting.finally(() => this.#starting.delete(starting))
    })
  }

  async #again(index: number): Promise<void> {
    // It may be killed on its way as well.
    while (!this.#isOver) {
      try {
        return await this.#serve(index)
      } catch {
        await sleep(100)
      }
    }
  }
}
