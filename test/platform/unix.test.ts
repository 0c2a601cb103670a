/** The contract of the platform over a unix socket, as the owner of the home (R39). */
import { afterAll, beforeAll } from 'vitest'
import { openRemotePlatform } from '../../src/core/platform/remote/remote.ts'
import { homeWith, serveOnSocket } from '../support/served.ts'
import { NEEDED, platformContract } from './contract.ts'

let served: Awaited<ReturnType<typeof serveOnSocket>>

beforeAll(async () => {
  served = await serveOnSocket(await homeWith(NEEDED))
})

afterAll(() => served.close())

platformContract(async () => openRemotePlatform({ socket: served.socket }))
