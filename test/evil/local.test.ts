/** Every mode of the evil resolver as a local worker: its run ends as it must, and nobody else is harmed (threats 5, 6). */
import { afterAll, beforeAll, describe, test } from 'vitest'
import { Arena } from '../support/evil-arena.ts'
import { type EvilMode, endure, evilModes } from '../support/evil-modes.ts'
import { temporaryHome } from '../support/instances.ts'

const arena = new Arena(temporaryHome(), 'local')
beforeAll(() => arena.open())
afterAll(() => arena.close())

const bearable = evilModes.filter(({ only }) => only === undefined)
const isQuestion = ({ refusal }: EvilMode) => refusal !== undefined

// A question that kills who answers it may end others that were asked of it: these modes go first, alone.
describe('the evil resolver asked as a process', { timeout: 60_000 }, () => {
  for (const evil of bearable.filter(isQuestion)) test(evil.mode, () => endure(arena, evil))
})

describe.concurrent('the evil resolver run as a process', { timeout: 60_000 }, () => {
  for (const evil of bearable.filter((one) => !isQuestion(one))) test(evil.mode, () => endure(arena, evil))
})
