/** Two processes that claim the same key at the same moment get one claim (R11): also where they find no entry, or an expired one. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Claim, IdempotencyKeys } from '../../src/core/store/idempotency.ts'
import { temporaryHome } from '../support/instances.ts'

const KEYS = 150

const claimed = async (keys: IdempotencyKeys, key: string) =>
  (await keys.claim({ scope: ['ada', 'POST', '/instances'], key, body: {} })) as Claim

// verifies: R11
test.each(['new', 'expired'])(
  'of claims of one %s key by two servers at once, both have the same instance',
  async (what) => {
    const home = temporaryHome()
    const directory = join(home, 'idempotency')
    if (what === 'expired') {
      const earlier = new IdempotencyKeys(home)
      for (let n = 0; n < KEYS; n += 1) (await claimed(earlier, `key-${n}`)).release()
      for (const name of readdirSync(directory).filter((one) => one.endsWith('.json'))) {
        const kept = JSON.parse(readFileSync(join(directory, name), 'utf8')) as object
        writeFileSync(join(directory, name), JSON.stringify({ ...kept, since: '2020-01-01T00:00:00.000Z' }))
      }
    }
    const servers = [new IdempotencyKeys(home), new IdempotencyKeys(home)]
    const different: string[] = []
    for (let n = 0; n < KEYS; n += 1) {
      // The second one reads while the first one creates: how many turns later that is, is tried out.
      const turns = n % 30
      const claims = await Promise.all(
        servers.map(async (keys, at) => {
          for (let turn = 0; turn < turns * at; turn += 1) await nextTurn()
          return await claimed(keys, `key-${n}`)
        }),
      )
      if (new Set(claims.map(({ instanceId }) => instanceId)).size > 1) different.push(`key-${n}`)
      for (const claim of claims) claim.release()
    }
    expect(different).toEqual([])
  },
)
