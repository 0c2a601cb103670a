/**
 * An engine of a test's own, to be killed and started again: in a network namespace of its own, so that it can't touch the networks of
 * the machine's engine, with directories that are removed at the end. Needs root on Linux.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** dockerd and iptables lie where not everyone's PATH leads. */
const ENV = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin` }

const END_MS = 45_000

export class PrivateEngine {
  readonly #root = mkdtempSync('/var/tmp/resolve-engine-')
  readonly socket = join(this.#root, 'docker.sock')
  #daemon: ChildProcess | undefined
  #containerd: ChildProcess | undefined

  /** Starts the daemon, or starts it again; its containerd runs on meanwhile, as it does on a real machine. */
  async start(liveRestore = true): Promise<void> {
    const containerd = join(this.#root, 'containerd.sock')
    if (this.#containerd === undefined) {
      mkdirSync(join(this.#root, 'containerd'))
      const places = ['--root', join(this.#root, 'containerd/root'), '--state', join(this.#root, 'containerd/state')]
      this.#containerd = spawn('unshare', ['-n', 'containerd', '--address', containerd, ...places], {
        stdio: 'ignore',
        env: ENV,
      })
      for (let tries = 0; !existsSync(containerd) && tries < 200; tries += 1) await sleep(50)
    }
    const pid = String(this.#containerd.pid)
    this.#daemon = spawn(
      'nsenter',
      [
        ...['-t', pid, '-n', 'dockerd', '-H', `unix://${this.socket}`, '--containerd', containerd],
        ...['--data-root', join(this.#root, 'data'), '--exec-root', join(this.#root, 'exec')],
        ...['--pidfile', join(this.#root, 'pid'), ...(liveRestore ? ['--live-restore'] : [])],
      ],
      { stdio: 'ignore', env: ENV },
    )
    for (let tries = 0; tries < 300; tries += 1) {
      if (this.#answers()) return
      await sleep(100)
    }
    throw new Error('The private engine did not start.')
  }

  load(image: string): void {
    execFileSync('sh', ['-c', `docker save ${image} | docker -H unix://${this.socket} load`], { stdio: 'ignore' })
  }

  docker(...args: string[]): string {
    return execFileSync('docker', ['-H', `unix://${this.socket}`, ...args], { encoding: 'utf8' }).trim()
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const daemon = this.#daemon
    if (daemon === undefined) return
    const ended = new Promise((resolve) => daemon.once('exit', resolve))
    daemon.kill(signal)
    // As a service manager does: a daemon that was asked to end and hangs is killed.
    const late = setTimeout(() => daemon.kill('SIGKILL'), END_MS)
    await ended
    clearTimeout(late)
    rmSync(join(this.#root, 'pid'), { force: true })
    this.#daemon = undefined
  }

  async remove(): Promise<void> {
    if (this.#daemon === undefined) await this.start()
    const all = this.docker('ps', '-aq').split('\n').filter(Boolean)
    if (all.length > 0) this.docker('rm', '-f', ...all)
    await this.end('SIGTERM')
    const containerd = this.#containerd
    if (containerd !== undefined) {
      const ended = once(containerd, 'exit')
      containerd.kill('SIGTERM')
      await Promise.race([ended, sleep(5_000)])
    }
    execFileSync('sh', ['-c', `grep -o ' ${this.#root}[^ ]*' /proc/mounts | sort -r | xargs -r umount -l`], {
      stdio: 'ignore',
    })
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }

  #answers(): boolean {
    try {
      this.docker('version')
      return true
    } catch {
      return false
    }
  }
}
