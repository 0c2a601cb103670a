/** Looking again and again: a server that is gone is waited for, what else goes wrong ends it at once. */
import { expect, test } from 'vitest'
import { fail } from '../../src/core/errors.ts'
import type { Connection } from '../../src/core/index.ts'
import { pollUntilSignal } from '../../src/terminal/command/poll-until-signal.ts'

const gone = () => fail('server_unreachable', { url: 'http://x', reason: 'the connection was refused' })

/** Looks that end as this list says, and what was told of the connection; the last one goes on for ever. */
function looks(ends: readonly (Error | undefined)[], waitLimitMs = 60_000) {
  const told: Connection[] = []
  let at = 0
  const poll = async () => {
    const end = ends[Math.min(at, ends.length - 1)]
    at += 1
    if (end !== undefined) throw end
  }
  const options = { onConnection: (one: Connection) => told.push(one), again: 'resolve inbox --watch', waitLimitMs }
  return { told, ended: pollUntilSignal(poll, options) }
}

test('a poll that fails without the server is repeated, and its success ends the loss', async () => {
  const { told, ended } = looks([undefined, gone(), fail('shutting_down', {}), undefined, fail('token_refused', {})])
  await expect(ended).rejects.toMatchObject({ code: 'token_refused' })
  expect(told.map(({ state }) => state)).toEqual(['lost', 'lost', 'back'])
  expect(new Set(told.map(({ since }) => since)).size).toBe(1)
})

test('after its time limit it ends with exit code 10, the time it took and the command to repeat', async () => {
  const { told, ended } = looks([undefined, gone()], 1_200)
  await expect(ended).rejects.toMatchObject({
    exitCode: 10,
    message: expect.stringMatching(/^The connection to http:\/\/x was lost \d+ s ago\.$/) as string,
    extras: { next: ['resolve inbox --watch'] },
  })
  expect(told.at(-1)?.state).toBe('lost')
})

test('a server that was never reachable is not waited for', async () => {
  const { told, ended } = looks([gone()])
  await expect(ended).rejects.toMatchObject({ code: 'server_unreachable' })
  expect(told).toEqual([])
})

test('a signal ends it also during a slow poll', async () => {
  const poll = () => new Promise<void>(() => {})
  const ended = pollUntilSignal(poll, { onConnection: () => {}, again: '' })
  const timer = setInterval(() => {}, 1_000)
  process.emit('SIGINT', 'SIGINT')
  expect(await ended).toBe(130)
  clearInterval(timer)
})
