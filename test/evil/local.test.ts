/** Every mode of the evil resolver as a local worker: its run ends as it must, and no other instance is harmed (reliability, The evil resolver). */
import { afterAll, beforeAll, describe, test } from 'vitest'
import { Arena } from '../support/evil-arena.ts'
import { endure, evilModes } from '../support/evil-modes.ts'
import { temporaryHome } from '../support/instances.ts'

const arena = new Arena(temporaryHome())
beforeAll(() => arena.open())
afterAll(() => arena.close())

const bearable = evilModes.filter(({ only }) => only === undefined)

describe.concurrent('the evil resolver as a process', { timeout: 120_000 }, () => {
  for (const evil of bearable.filter(({ isAlone }) => !isAlone)) test(evil.mode, () => endure(arena, evil))
})

describe('the evil resolver as the only process', { timeout: 120_000 }, () => {
  for (const evil of bearable.filter(({ isAlone }) => isAlone)) test(evil.mode, () => endure(arena, evil))
})
