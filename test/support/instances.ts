/** A home of its own for a test, and instances in it that are hosted in the test's process or by real background hosts. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LocalPlatform, openLocalPlatform } from '../../src/core/platform/local/local.ts'
import type { CreateRequest } from '../../src/core/platform/platform.ts'
import type { EventEnvelope } from '../../src/core/protocol/event.ts'
import type { Payload } from '../../src/core/protocol/form.ts'
import { isTerminal, type Status } from '../../src/core/protocol/status.ts'
import { instancePaths, prepareHome } from '../../src/core/store/home.ts'
import { readStory } from '../../src/core/store/journal-projection.ts'
import { JournalReader } from '../../src/core/store/journal-reader.ts'
import type { Story } from '../../src/core/view/story.ts'
import { root } from '../house/source-files.ts'
import type { PlainResolver } from './plain-resolver.ts'

export function temporaryHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'resolve-home-'))
  prepareHome(home)
  return home
}

/** One at a time: resolvers of tests share names, and each creation means the folder that it registered. */
let lastCreation: Promise<unknown> = Promise.resolve()

/**
 * Creates an instance through the platform, as a command does: the resolver is registered, and asked for its form. Without a host, so that
 * tests of hosts can start theirs.
 */
export async function created(home: string, resolver: PlainResolver, input: Payload = {}): Promise<string> {
  return await onPlatform(home, (platform) => createdOn(platform, resolver, { input, host: 'none' }))
}

/** Creates it and runs it to its end, or to its pause, hosted here. */
export async function ranToEnd(
  home: string,
  resolver: PlainResolver,
  input: Payload = {},
): Promise<{ id: string; story: Story }> {
  const id = await onPlatform(home, async (platform) => {
    const created = await createdOn(platform, resolver, { input, host: 'here' })
    await platform.over(created)
    return created
  })
  return { id, story: storyOf(home, id) }
}

/** Creates it on a platform that the test holds. */
export async function createdOn(
  platform: LocalPlatform,
  resolver: PlainResolver,
  request: Omit<CreateRequest, 'resolver'>,
): Promise<string> {
  const creation = lastCreation.then(async () => {
    await register(platform, resolver)
    return await platform.create({ resolver: resolver.name, ...request })
  })
  lastCreation = creation.catch(() => undefined)
  return (await creation).instance_id
}

/** As `resolver add --force`; nothing is written for a folder that is registered. */
async function register(platform: LocalPlatform, { name, dir }: PlainResolver): Promise<void> {
  const catalog = await platform.catalog()
  await catalog.refresh()
  if (catalog.list().some((entry) => entry.name === name && entry.dir === dir)) return
  await catalog.add(dir, { cwd: dir, force: true })
}

async function onPlatform<T>(home: string, work: (platform: LocalPlatform) => Promise<T>): Promise<T> {
  const platform = await openLocalPlatform({ home, builtins: join(root, 'src/resolvers') })
  try {
    return await work(platform)
  } finally {
    await platform.close()
  }
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
  limitMs = 60_000,
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
