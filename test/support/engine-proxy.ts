/** Stands between our code and the engine, to be cut, refused or frozen: what a restart and a hang of an engine look like (reliability F4). */
import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export class EngineProxy {
  readonly socket = join(mkdtempSync(join(tmpdir(), 'resolve-proxy-')), 'engine.sock')
  readonly #open = new Set<Socket>()
  #server: Server | undefined
  #isFrozen = false

  async start(): Promise<void> {
    this.#server = createServer((near) => this.#join(near))
    await new Promise<void>((resolve) => this.#server?.listen(this.socket, resolve))
  }

  /** The engine is away: every connection breaks, and new ones are refused. */
  async cut(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    const closed = new Promise((resolve) => server?.close(resolve))
    for (const socket of this.#open) socket.destroy()
    await closed
    rmSync(this.socket, { force: true })
  }

  /** The engine hangs: it takes connections and says nothing any more. */
  freeze(): void {
    this.#isFrozen = true
    for (const socket of this.#open) socket.pause()
  }

  thaw(): void {
    this.#isFrozen = false
    for (const socket of this.#open) socket.resume()
  }

  #join(near: Socket): void {
    const far = createConnection('/var/run/docker.sock')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#open.add(from)
      from.on('data', (bytes) => to.write(bytes))
      from.on('end', () => to.end())
      from.on('error', () => to.destroy())
      from.on('close', () => {
        this.#open.delete(from)
        to.destroy()
      })
      if (this.#isFrozen) from.pause()
    }
  }
}
