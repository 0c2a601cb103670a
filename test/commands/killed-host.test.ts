/** A host that is killed between its journal and its record: every command tells what the journal says (reliability I4). */
import { readFileSync, statSync, utimesSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Home, newHome } from './cli.ts'

let place: Home

beforeEach(() => {
  place = newHome()
})

afterEach(() => place.end())

test('a host killed after the move that made an instance wait leaves a waiting one, also where the clock of its journal is ahead', async () => {
  // It ends when it is stopped: an adopting host gives a running resolver 30 s for that.
  const behaviour = `me.stopped.then(() => process.exit(0)); await me.ask('q', 'Go on?'); me.finish({ status: 'completed' })`
  const { dir } = plainResolver(behaviour, { name: 'asks' })
  expect((await place.run('resolver', 'add', dir)).code).toBe(0)
  const killed = await place.with({ env: { RESOLVE_FAILPOINTS: 'move.synced@3=kill' } }, 'run', 'asks', '--json')
  expect(killed.code).not.toBe(0)
  const [record] = (JSON.parse((await place.run('instance', 'list', '--json')).stdout) as { instances: Shown[] })
    .instances
  expect(record?.status).toBe('awaiting_input')

  const id = record?.instance_id as string
  const paths = instancePaths(place.home, id)
  const cached = JSON.parse(readFileSync(paths.record, 'utf8')) as { journal_bytes: number }
  // The premise: the record on disk is older than the journal.
  expect(cached.journal_bytes).toBeLessThan(statSync(paths.journal).size)
  const ahead = new Date(Date.now() + 3_600_000)
  utimesSync(paths.journal, ahead, ahead)
  const shown = JSON.parse((await place.run('instance', 'show', id, '--json')).stdout) as Shown
  expect(shown.status).toBe('awaiting_input')
  expect((await place.run('instance', 'cancel', id)).code).toBe(0)
})

interface Shown {
  instance_id: string
  status: string
}
