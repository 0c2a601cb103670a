/** What a consumer sends reaches the resolver, whenever it comes (R42). */
import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ResolverCalls } from '../../src/core/host/launch/resolver-calls.ts'
import { SealedPayloads } from '../../src/core/host/launch/sealed-payloads.ts'
import { Ledger } from '../../src/core/host/ledger/ledger.ts'
import { openCoordination } from '../../src/core/host/lifecycle/unusable-coordination.ts'
import { Delivery } from '../../src/core/host/requests/delivery.ts'
import { SentFiles } from '../../src/core/host/requests/publish.ts'
import { pairedChannels } from '../../src/core/rpc/channel.ts'
import { Peer } from '../../src/core/rpc/peer.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { LocalDriver } from '../../src/core/worker/local/local.ts'
import { created, temporaryHome } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

test('a message that arrives in the same turn of the event loop in which delivery ended is delivered too', async () => {
  const home = temporaryHome()
  const paths = instancePaths(home, await created(home, plainResolver('')))
  const ledger = await Ledger.open(paths)
  const coordination = openCoordination(new LocalDriver(paths))
  const [ours, theirs] = pairedChannels()
  const heard: unknown[] = []
  new Peer(theirs).handle('resolver.message', (params) => {
    heard.push((params as { payload: unknown }).payload)
    return null
  })
  const delivery = new Delivery(
    { ledger, coordination, files: new SentFiles(coordination), sealed: new SealedPayloads(home, ledger) },
    new ResolverCalls(ours, { epoch: 1 }),
    async (line) => line(),
  )
  delivery.deliverAll()
  ledger.accept({
    ...{ kind: 'message', number: 1, message_type: 'note', payload: { text: 'hi' } },
    ...{ actor: 'ada', via: 'http', at: new Date().toISOString() },
  })
  delivery.deliverAll()
  await expect.poll(() => heard).toEqual([{ text: 'hi' }])
  coordination.close()
  ledger.close()
  rmSync(home, { recursive: true })
})
