/**
 * Measures an instance in a container from its creation to `running`. The bare counterpart takes the same steps by hand:
 * create, attach, start, first answer. Same image, program and limits; setup was done and the form was requested before, as in
 * a server that has run for a while.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import Docker from 'dockerode'
import { containerSpec } from '../src/core/worker/docker/container-spec.ts'
import { SOURCE } from '../src/core/worker/engine/container-places.ts'
import { Demux } from '../src/core/worker/engine/demux.ts'
import { engineSocket } from '../src/core/worker/engine/engine.ts'
import { root } from '../test/house/source-files.ts'
import { plainResolver } from '../test/support/plain-resolver.ts'
import { platformOn } from '../test/support/platforms.ts'
import { inTurn, type Part, type Sample, Unavailable } from './figure.ts'
import { sized } from './quick.ts'

const NAME = 'create → running, setup cached'
const PAIRS = sized(5, 1)

export const docker: Part = {
  figures: [{ name: NAME, against: 'dockerode: create, attach, start, handshake', goal: { most: 1.25 } }],
  rounds: 5,
  round,
}

async function round(): Promise<Sample[]> {
  const engine = new Docker({ socketPath: engineSocket() })
  await engine.ping().catch(() => {
    throw new Unavailable('no Docker engine answers')
  })
  const image = execFileSync(process.execPath, [join(root, 'scripts', 'docker-base.mjs')], { encoding: 'utf8' }).trim()
  process.env['RESOLVE_WORKER_IMAGE'] = image
  const home = mkdtempSync(join(tmpdir(), 'resolve-bench-'))
  // It runs until it is told to end: the end is not measured.
  const resolver = plainResolver(`await me.stopped; me.finish({ status: 'completed' }); process.exit(0)`, {
    container: { setup_commands: ['true'] },
  })
  chmodSync(resolver.dir, 0o755)
  const platform = await platformOn(home)
  let setup: string | undefined
  try {
    await (await platform.catalog()).add(resolver.dir, { cwd: home })
    await platform.prepare(resolver.name)
    const ours = async () => {
      await platform.schema(resolver.name, {})
      const begin = performance.now()
      const { instance_id: id } = await platform.create({ resolver: resolver.name, input: {} })
      let isRunning = false
      for await (const { event } of platform.events(id, { follow: true })) {
        isRunning = event.event_type === 'platform.instance.status_changed' && event.data['to'] === 'running'
        if (isRunning) break
      }
      if (!isRunning) throw new Error(JSON.stringify((await platform.story(id)).error))
      const took = performance.now() - begin
      const [container] = await engine.listContainers({ filters: { label: [`resolve.instance=${id}`] } })
      setup ??= container?.ImageID
      await platform.stop(id)
      await platform.over(id)
      return took
    }
    await ours()
    const from = setup ?? image
    return await inTurn(NAME, PAIRS, ours, () => bareHandshake(engine, from, resolver.dir))
  } finally {
    await platform.close()
    if (setup !== undefined) await engine.getImage(setup).remove({ force: true })
    rmSync(home, { recursive: true, force: true })
    rmSync(resolver.dir, { recursive: true, force: true })
  }
}

async function bareHandshake(engine: Docker, image: string, directory: string): Promise<number> {
  const spec = containerSpec({
    role: 'worker',
    home: 'bench',
    instance: null,
    incarnation: 1,
    name: `resolve-bench-${process.pid}`,
    image,
    command: ['node', 'program.mjs'],
    directory: SOURCE,
    environment: { RESOLVE_DIR: '/tmp' },
    user: { uid: 1000, gid: 1000 },
    mounts: [{ source: directory, target: SOURCE, readOnly: true }],
    network: 'bridge',
  })
  const begin = performance.now()
  const container = await engine.createContainer(spec)
  try {
    const what = { hijack: true, stream: true, stdin: true, stdout: true, stderr: true }
    const stream = (await container.attach(what)) as unknown as Duplex
    await container.start()
    stream.write(
      `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resolver.initialize', params: { config: {} } })}\n`,
    )
    await firstAnswer(stream)
    const took = performance.now() - begin
    stream.destroy()
    return took
  } finally {
    await container.remove({ force: true })
  }
}

function firstAnswer(stream: Duplex): Promise<void> {
  const demux = new Demux()
  let text = ''
  return new Promise((resolve, reject) => {
    stream.on('data', (chunk: Buffer) => {
      for (const { bytes } of demux.push(chunk)) text += bytes.toString('utf8')
      if (text.includes('"ready"')) resolve()
    })
    stream.once('end', () => reject(new Error(`The bare container said no more than: ${text}`)))
  })
}
