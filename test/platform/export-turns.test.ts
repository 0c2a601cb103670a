/** An export of a long journal does not keep the event loop: counted in bytes that are read in each turn (decisions/0020). */
import fs, { mkdtempSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { JournalWriter } from '../../src/core/store/journal-writer.ts'
import { platformOn } from '../support/platforms.ts'
import { seedHome } from '../support/seeded-home.ts'
import { bytesPerTurn } from '../support/turns.ts'

const { readSync } = fs

afterEach(() => {
  fs.readSync = readSync
  syncBuiltinESMExports()
})

test('four exports at once read a long journal in parts, with other work in between', { timeout: 90_000 }, async () => {
  const home = join(mkdtempSync(join(tmpdir(), 'resolve-export-')), 'home')
  const [id] = (await seedHome(home, 1)) as [string]
  const writer = JournalWriter.open(instancePaths(home, id).journal)
  const data = { pad: 'x'.repeat(2_000) }
  const timestamp = '2026-01-01T01:00:00.000Z'
  const text = JSON.stringify({ schema_version: 1, event_type: 'a.b', instance_id: id, data, timestamp })
  for (let part = 0; part < 16; part += 1) writer.append(Array(512).fill({ text, sourceEnd: null }))
  writer.close()
  const platform = await platformOn(home)
  const archives = await Promise.all([1, 2, 3, 4].map(() => platform.export(id)))
  const turns = bytesPerTurn()
  let all = 0
  fs.readSync = ((...args: Parameters<typeof readSync>) => {
    const bytes = readSync(...args)
    all += bytes
    turns.count(bytes)
    return bytes
  }) as typeof readSync
  syncBuiltinESMExports()
  await Promise.all(
    archives.map(async (archive) => {
      for await (const _ of archive);
    }),
  )
  turns.stop()
  await platform.close()
  // Each journal is read twice for each of its two files.
  expect(all).toBeGreaterThan(4 * 4 * 16_000_000)
  expect(turns.most()).toBeLessThan(4_000_000)
})
