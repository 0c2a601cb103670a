import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  claimEpoch,
  highestEpoch,
  isOwnerAlive,
  type Owner,
  readOwner,
  releaseEpoch,
} from '../../src/core/store/owners.ts'

const room = () => mkdtempSync(join(tmpdir(), 'resolve-owners-'))

async function listening(): Promise<{ path: string; close: () => Promise<void> }> {
  const path = join(room(), 's.sock')
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(path, resolve))
  return { path, close: () => new Promise((resolve) => server.close(() => resolve())) }
}

test('of many claims of the same epoch one wins', () => {
  const owners = room()
  const wins = Array.from({ length: 20 }, () => claimEpoch(owners, 1, '/nowhere')).filter(Boolean)
  expect(wins).toHaveLength(1)
  expect(highestEpoch(owners)).toBe(1)
})

test('the highest epoch owns, by number and not by name', () => {
  const owners = room()
  for (const epoch of [1, 2, 9, 10]) claimEpoch(owners, epoch, `/socket-${epoch}`)
  expect(readOwner(owners)?.socket).toBe('/socket-10')
})

test('an owner is alive while its socket accepts, and dead when the socket refuses or the owner released it', async () => {
  const owners = room()
  const server = await listening()
  claimEpoch(owners, 1, server.path)
  const owner = readOwner(owners) as Owner
  expect(await isOwnerAlive(owner)).toBe(true)
  releaseEpoch(owners, owner)
  expect(await isOwnerAlive(readOwner(owners) as Owner)).toBe(false)
  await server.close()
})

test('a missing socket file makes an owner dead only if its process has ended', async () => {
  const owners = room()
  const server = await listening()
  claimEpoch(owners, 1, server.path)
  const owner = readOwner(owners) as Owner
  await server.close()
  rmSync(server.path, { force: true })
  expect(await isOwnerAlive(owner)).toBe(true)
  expect(await isOwnerAlive({ ...owner, process: { ...owner.process, startTime: '1' } })).toBe(false)
})
