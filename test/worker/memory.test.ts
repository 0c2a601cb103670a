/** The driver of the model test keeps the contract that those of processes and containers keep. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import { pathsIn } from '../../src/core/store/home.ts'
import { MemoryMachine, nodeInMemory } from '../support/memory-machine.ts'
import { driverContract } from './contract.ts'

describe('in memory', () => {
  driverContract(async () => {
    const root = mkdtempSync(join(tmpdir(), 'resolve-worker-'))
    const machine = new MemoryMachine({ node: nodeInMemory })
    return {
      driver: () => machine.driver(pathsIn(root)),
      directory: root,
      node: 'node',
      writeHalfFrame: async (text) => machine.writeHalfFrame(root, text),
      clear: async () => rmSync(root, { recursive: true, force: true }),
    }
  })
})
