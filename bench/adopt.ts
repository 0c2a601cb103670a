/**
 * How soon a host sees the end of a worker that it adopted, and that is no child of it: from the answer that lets it finish, and from its
 * violent end, to the end of the instance in the journal. Hosts are processes of their own, and the first of each instance is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { installedFile } from '../src/core/files/installation.ts'
import { instancePaths } from '../src/core/store/home.ts'
import { created, eventsOf, temporaryHome, until } from '../test/support/instances.ts'
import { type PlainResolver, plainResolver } from '../test/support/plain-resolver.ts'
import { askOwner } from '../test/support/platforms.ts'
import type { Part, Sample } from './figure.ts'
import { sized } from './quick.ts'

const ANSWERED = 'adopted: answer → completed'
const KILLED = 'adopted: worker killed → failed'
const TIMES = sized(7, 1)

export const adopt: Part = {
  figures: [
    { name: ANSWERED, against: '–', goal: { most: 50 }, unit: 'ms' },
    { name: KILLED, against: '–', goal: { most: 50 }, unit: 'ms' },
  ],
  rounds: 3,
  round,
}

async function round(): Promise<Sample[]> {
  const home = temporaryHome()
  const resolver = plainResolver(`await me.ask('q', '?'); me.finish({ status: 'completed' })`)
  const samples: Sample[] = []
  try {
    for (let n = 0; n < TIMES; n += 1) {
      samples.push({ figure: ANSWERED, value: await untilOver(home, resolver, answer) })
      samples.push({ figure: KILLED, value: await untilOver(home, resolver, kill) })
    }
    return samples
  } finally {
    for (const directory of [home, resolver.dir]) rmSync(directory, { recursive: true, force: true })
  }
}

/** The milliseconds from what `end` answers, a time, to the end of an adopted instance. */
async function untilOver(home: string, resolver: PlainResolver, end: typeof answer): Promise<number> {
  const id = await created(home, resolver)
  const first = startHost(home, id)
  await until(home, id, ({ status }) => status === 'awaiting_input')
  first.kill('SIGKILL')
  await once(first, 'exit')
  const second = startHost(home, id)
  const over = once(second, 'exit')
  await until(home, id, ({ adoptions }) => adoptions === 1)
  // The first look of a host finds what ended before it came.
  await sleep(300)
  const begin = await end(home, id)
  await over
  return timeOf(home, id, 'platform.instance.status_changed') - begin
}

function startHost(home: string, id: string): ChildProcess {
  return spawn(process.execPath, [installedFile('host.js') as string, home, id], { stdio: 'inherit' })
}

async function answer(home: string, id: string): Promise<number> {
  await askOwner(home, id, (owner) => owner.answer(id, 'q', {}, { actor: 'bench', via: 'cli' }))
  return timeOf(home, id, 'platform.input.answered')
}

async function kill(home: string, id: string): Promise<number> {
  const { process: worker } = JSON.parse(readFileSync(instancePaths(home, id).worker, 'utf8'))
  process.kill(worker.pid, 'SIGKILL')
  return Date.now()
}

/** When the last event of the type was journaled. */
function timeOf(home: string, id: string, type: string): number {
  const last = eventsOf(home, id).findLast(({ event }) => event.event_type === type)
  return Date.parse(last?.event.timestamp ?? '')
}
