/** Measures many creations at once on one server: how many instances complete in a second, and what each costs the server itself. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerUse } from './create-server.ts'
import type { Part, Sample } from './figure.ts'
import { sized } from './quick.ts'
import { typedResolver } from './typed-resolver.ts'

const ALL = sized(500, 20)
/** Requests that are open at the same time. */
const OPEN = 32
const RATE = `${ALL} creations of a .ts resolver: completed a second`
const CPU = `${ALL} creations: processor of serve, each`
const LOOK_MS = 20

export const burst: Part = {
  figures: [
    { name: RATE, against: '–', goal: { least: 30 }, unit: 'instances' },
    { name: CPU, against: '–', goal: { most: 16 }, unit: 'ms' },
  ],
  rounds: 3,
  round,
}

async function round(): Promise<Sample[]> {
  const home = mkdtempSync(join(tmpdir(), 'resolve-bench-'))
  const resolver = typedResolver('typed')
  const server = fork(join(import.meta.dirname, 'create-server.ts'), [home, resolver.dir], { silent: false })
  try {
    const [{ port }] = (await once(server, 'message')) as [{ port: number }]
    const create = () => createOne(`http://127.0.0.1:${port}/api/instances`, resolver.name)
    // The first one compiles what all others load.
    await create()
    const before = await untilAllEnded(server)
    const begin = performance.now()
    let left = ALL
    const worker = async () => {
      while (left > 0) {
        left -= 1
        await create()
      }
    }
    await Promise.all(Array.from({ length: OPEN }, worker))
    const after = await untilAllEnded(server)
    const seconds = (performance.now() - begin) / 1_000
    return [
      { figure: RATE, value: ALL / seconds },
      { figure: CPU, value: (after.cpuMs - before.cpuMs) / ALL },
    ]
  } finally {
    server.send('end')
    await once(server, 'exit')
    rmSync(resolver.dir, { recursive: true, force: true })
  }
}

async function createOne(address: string, resolver: string): Promise<void> {
  const created = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resolver, input: {} }),
  })
  const text = await created.text()
  if (!created.ok) throw new Error(`A creation was answered with ${created.status}: ${text}`)
}

async function untilAllEnded(server: ChildProcess): Promise<ServerUse> {
  for (;;) {
    const asked = once(server, 'message') as Promise<[ServerUse]>
    server.send('use')
    const [use] = await asked
    if (use.hosted === 0) return use
    await sleep(LOOK_MS)
  }
}
