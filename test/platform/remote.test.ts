/** The contract of the platform over HTTP: a real server on a port of its own, and a token. */
import { afterAll, beforeAll } from 'vitest'
import { openRemotePlatform } from '../../src/core/platform/remote/remote.ts'
import { homeWith, type Served, serve } from '../support/served.ts'
import { NEEDED, platformContract } from './contract.ts'

let served: Served
let token: string

beforeAll(async () => {
  served = await serve(await homeWith(NEEDED))
  token = await served.token()
})

afterAll(() => served.close())

platformContract(async () => openRemotePlatform({ url: served.url, token }))
