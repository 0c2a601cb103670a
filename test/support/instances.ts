/** A home of its own for a test, and instances in it that are hosted in the test's process or by real background hosts. */
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import type { EventEnvelope } from '../../src/core/protocol/event.ts'
import type { Payload } from '../../src/core/protocol/form.ts'
import type { CreationRecord } from '../../src/core/protocol/journal.ts'
import type { Manifest } from '../../src/core/protocol/manifest.ts'
import { isTerminal, type Status } from '../../src/core/protocol/status.ts'
import { createInstance } from '../../src/core/store/create-instance.ts'
import { instancePaths, newInstanceId, prepareHome } from '../../src/core/store/home.ts'
import { readStory } from '../../src/core/store/journal-projection.ts'
import { JournalReader } from '../../src/core/store/journal-reader.ts'
import type { Story } from '../../src/core/view/story.ts'
import type { PlainResolver } from './plain-resolver.ts'

export function temporaryHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'resolve-home-'))
  prepareHome(home)
  return home
}

/** Creates an instance of a resolver folder, without a host. */
export async function created(
  home: string,
  resolver: PlainResolver,
  input: Payload = {},
  creation: (manifest: Manifest) => Partial<CreationRecord> = () => ({}),
): Promise<string> {
  const id = newInstanceId()
  const manifest = JSON.parse(readFileSync(join(resolver.dir, 'manifest.json'), 'utf8')) as Manifest
  await createInstance(home, {
    schema: 'resolve.journal/1',
    instance_id: id,
    name: null,
    parent_id: null,
    created_at: new Date().toISOString(),
    input,
    executor: 'local',
    environment: {},
    resolver: { name: manifest.name, version: manifest.version, dir: resolver.dir, commit: null, manifest },
    ...creation(manifest),
  })
  return id
}

/** Runs an instance to its end, or to its pause, hosted here. */
export async function ranToEnd(
  home: string,
  resolver: PlainResolver,
  input: Payload = {},
): Promise<{ id: string; story: Story }> {
  const id = await created(home, resolver, input)
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await hosts.over(id)
  await hosts.close()
  return { id, story: storyOf(home, id) }
}

export function storyOf(home: string, id: string): Story {
  return readStory(instancePaths(home, id).journal)
}

export interface JournaledEvent {
  seq: number
  sourceEnd: number | null
  text: string
  event: EventEnvelope
}

export function eventsOf(home: string, id: string): JournaledEvent[] {
  const reader = new JournalReader(instancePaths(home, id).journal)
  const events: JournaledEvent[] = []
  for (let lines = reader.read(); lines.length > 0; lines = reader.read()) {
    for (const line of lines) events.push({ ...line, event: JSON.parse(line.text) as EventEnvelope })
  }
  reader.close()
  return events
}

export function statusesOf(home: string, id: string): Status[] {
  return storyOf(home, id).history.map((change) => change.status)
}

/** Waits until what the journal says satisfies `condition`; throws with the last story after `limitMs`. */
export async function until(
  home: string,
  id: string,
  condition: (story: Story) => boolean,
  limitMs = 20_000,
): Promise<Story> {
  const deadline = Date.now() + limitMs
  for (;;) {
    const story = storyOf(home, id)
    if (condition(story)) return story
    if (Date.now() > deadline || isTerminal(story.status)) {
      throw new Error(`The instance came no further than ${JSON.stringify({ ...story, creation: undefined }, null, 1)}`)
    }
    await sleep(20)
  }
}
