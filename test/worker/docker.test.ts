/** The driver of Docker containers keeps the contract of all drivers. */
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { newInstanceId, pathsIn } from '../../src/core/store/home.ts'
import { DockerDriver } from '../../src/core/worker/docker/docker.ts'
import { containersOf, describeWithDocker, docker, testImage } from '../support/docker.ts'
import { driverContract } from './contract.ts'

/** As a host that dies right after: attaches past our own code, writes, and is gone. */
async function writeTo(container: string, text: string): Promise<void> {
  const call = request({
    ...{
      socketPath: '/var/run/docker.sock',
      method: 'POST',
      path: `/containers/${container}/attach?stream=1&stdin=1&stdout=1`,
    },
    headers: { 'Content-Type': 'text/plain', Upgrade: 'tcp', Connection: 'Upgrade' },
  })
  call.end()
  const [, socket] = (await once(call, 'upgrade')) as [unknown, Socket]
  socket.write(text)
  await sleep(200)
  socket.destroy()
}

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

describeWithDocker('in a container', () => {
  driverContract(async () => {
    const home = mkdtempSync(join(tmpdir(), 'resolve-worker-'))
    const id = newInstanceId()
    const root = join(home, 'instances', id)
    const directory = mkdtempSync(join(tmpdir(), 'resolve-source-'))
    chmodSync(directory, 0o755)
    mkdirSync(root, { recursive: true })
    return {
      driver: () => new DockerDriver(pathsIn(root), home),
      directory,
      node: 'node',
      writeHalfFrame: async (text) => {
        const [container] = await containersOf(id)
        await writeTo(container as string, text)
      },
      clear: async () => {
        for (const left of await containersOf(id)) await docker('rm', '-f', left)
        rmSync(home, { recursive: true, force: true })
        rmSync(directory, { recursive: true, force: true })
      },
    }
  })
})
