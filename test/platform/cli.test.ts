/** The contract of the platform through the command line: every call a command of the built program, on this machine. */
import { beforeAll, vi } from 'vitest'
import { cliPlatform, LACKS } from '../support/cli-platform.ts'
import { homeWith } from '../support/served.ts'
import { NEEDED, platformContract } from './contract.ts'

// Every call is a process, and two cores have them all.
vi.setConfig({ testTimeout: 120_000 })

let home: string

beforeAll(async () => {
  home = await homeWith(NEEDED)
})

platformContract(async () => cliPlatform(home), { lacks: LACKS })
