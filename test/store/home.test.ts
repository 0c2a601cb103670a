import { mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listen } from '../../src/core/host/process/control-socket.ts'
import {
  findInstance,
  homeDirectory,
  instancesDirectory,
  newInstanceId,
  prepareHome,
} from '../../src/core/store/home.ts'

test('the home is RESOLVE_HOME, else in XDG_DATA_HOME, else in the home of the person (R1, R2)', () => {
  expect(homeDirectory({ RESOLVE_HOME: '/a', XDG_DATA_HOME: '/b', HOME: '/c' })).toBe('/a')
  expect(homeDirectory({ XDG_DATA_HOME: '/b', HOME: '/c' })).toBe('/b/resolve')
  expect(homeDirectory({ HOME: '/c' })).toBe('/c/.local/share/resolve')
})

test('the home is created for its owner only (R2)', () => {
  const home = join(mkdtempSync(join(tmpdir(), 'resolve-home-')), 'new')
  prepareHome(home)
  for (const path of [home, instancesDirectory(home)]) expect(statSync(path).mode & 0o777).toBe(0o700)
})

test('a home that cannot be created is reported with its path and the reason', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'resolve-home-')), 'file')
  writeFileSync(file, '')
  expect(() => prepareHome(join(file, 'home'))).toThrow(
    /Can't use the home directory .*: a part of its path is not a directory/,
  )
})

test('ids are twelve hexadecimal characters, found by a unique beginning (R3)', () => {
  const home = mkdtempSync(join(tmpdir(), 'resolve-home-'))
  prepareHome(home)
  expect(newInstanceId()).toMatch(/^[0-9a-f]{12}$/)
  for (const id of ['abcd00000000', 'abcd11111111', 'ffff00000000']) mkdirSync(join(instancesDirectory(home), id))
  expect(findInstance(home, 'ffff')).toBe('ffff00000000')
  expect(findInstance(home, 'abcd0')).toBe('abcd00000000')
  expect(() => findInstance(home, 'abcd')).toThrow(/matches 2 instances/)
  expect(() => findInstance(home, 'fff')).toThrow('No instance matches "fff".')
})

test('a host listens on a socket that only its owner may open (R39)', async () => {
  const socket = await listen(() => {
    throw new Error('must not be called')
  })
  expect(statSync(socket.path).mode & 0o777).toBe(0o600)
  expect(statSync(join(socket.path, '..')).mode & 0o077).toBe(0)
  socket.close()
})
