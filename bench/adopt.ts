/**
 * Measures how soon a host notices the end of an adopted worker, which is not its child: from the answer that lets the worker
 * finish, and from kill -9, to the end of the instance in the journal. Each host is a process of its own, and the first host of
 * each instance is killed.
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

/** Milliseconds from the time that `end` returns to the end of an adopted instance. */
async function untilOver(home: string, resolver: PlainResolver, end: typeof answer): Promise<number> {
  const id = await created(home, resolver)
  const first = startHost(home, id)
  await until(home, id, ({ status }) => status === 'awaiting_input')
  first.kill('SIGKILL')
  await once(first, 'exit')
  const second = startHost(home, id)
  const over = once(second, 'exit')
  await until(home, id, ({ adoptions }) => adoptions === 1)
  // The first check of a host finds workers that ended before it started.
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

/** The time at which the last event of the type was journaled. */
function timeOf(home: string, id: string, type: string): number {
  const last = eventsOf(home, id).findLast(({ event }) => event.event_type === type)
  return Date.parse(last?.event.timestamp ?? '')
}
