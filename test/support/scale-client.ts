/** What the parts about many instances share: a server in a process of its own, and many requests to it, some at a time. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { workerProcesses } from '../../src/core/host/ingest/instance-files.ts'
import { signalAll } from '../../src/core/worker/local/process-tree.ts'
import { platformOn } from './platforms.ts'
import type { ScaleUsage } from './scale-server.ts'

const AT_ONCE = 8

export class ScaleServer {
  readonly process: ChildProcess
  readonly url: string
  /** When it began to open its home, with its program loaded; milliseconds of this process's clock. */
  readonly beganAt: number
  readonly #token: string

  private constructor(child: ChildProcess, { url, token, tookMs }: { url: string; token: string; tookMs: number }) {
    this.process = child
    this.beganAt = performance.now() - tookMs
    this.url = url
    this.#token = token
  }

  static async start(home: string, nodeOptions: readonly string[] = []): Promise<ScaleServer> {
    const child = fork(join(import.meta.dirname, 'scale-server.ts'), [home], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      execArgv: [...nodeOptions],
    })
    const [said] = (await once(child, 'message')) as [{ url: string; token: string; tookMs: number }]
    return new ScaleServer(child, said)
  }

  async ask(path: string, init: { method?: string; body?: unknown } = {}): Promise<unknown> {
    const response = await fetch(`${this.url}/api${path}`, {
      method: init.method ?? 'GET',
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${text}`)
    return text === '' ? null : JSON.parse(text)
  }

  async usage(): Promise<ScaleUsage> {
    const said = once(this.process, 'message') as Promise<[ScaleUsage]>
    this.process.send('usage')
    return (await said)[0]
  }

  reset(): void {
    this.process.send('reset')
  }

  /** How many instances it took over so far. */
  async adoptions(): Promise<number> {
    const response = await fetch(`${this.url}/api/metrics`, { headers: { authorization: `Bearer ${this.#token}` } })
    return Number(/^resolve_adoptions_total (\d+)/m.exec(await response.text())?.[1] ?? 0)
  }

  /** Creates instances of a resolver in the catalog. Answers their ids when all are running. */
  async createRunning(resolver: string, count: number): Promise<string[]> {
    const ids = await forEach(Array.from({ length: count }), async () => {
      const made = (await this.ask('/instances', { method: 'POST', body: { resolver, input: {} } })) as {
        instance_id: string
      }
      return made.instance_id
    })
    await forEach(ids, async (id) => {
      for (;;) {
        const { status } = (await this.ask(`/instances/${id}`)) as { status: string }
        if (status === 'running') return
        if (status !== 'created' && status !== 'starting') throw new Error(`${id} is ${status}`)
        await sleep(50)
      }
    })
    return ids
  }

  /** Ends them all, and comes back when they have ended. */
  async endAll(ids: readonly string[]): Promise<void> {
    await forEach(
      ids,
      async (id) => {
        await this.ask(`/instances/${id}`, { method: 'DELETE' })
        while (((await this.ask(`/instances/${id}`)) as { ended_at: unknown }).ended_at === null) await sleep(100)
      },
      AT_ONCE * 4,
    )
  }

  async stop(): Promise<void> {
    const over = once(this.process, 'exit')
    this.process.send('end')
    await over
  }

  async kill(): Promise<void> {
    const over = once(this.process, 'exit')
    this.process.kill('SIGKILL')
    await over
  }
}

export async function forEach<T, R>(items: readonly T[], act: (item: T) => Promise<R>, atOnce = AT_ONCE): Promise<R[]> {
  const results: R[] = []
  const next = items.entries()
  const worker = async () => {
    for (const [index, item] of next) results[index] = await act(item)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return results
}

export function percentile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN
}

/** Registers a fixture resolver in a home. */
export async function addFixture(home: string, name: string): Promise<void> {
  const platform = await platformOn(home)
  const copy = join(home, 'sources', name)
  rmSync(copy, { recursive: true, force: true })
  cpSync(join(import.meta.dirname, '../fixtures/resolvers', name), copy, { recursive: true })
  await (await platform.catalog()).add(copy, { cwd: home })
  await platform.close()
}

/** By force, whatever lives of them: after a run that broke off. */
export function endWorkers(home: string): void {
  signalAll([...workerProcesses(home).values()].flat(), 'SIGKILL')
}
