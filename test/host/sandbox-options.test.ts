/** What a resolver may wish of its sandboxes, and what of it reaches the engine (threats B11, MAN-4). */
import { expect, test } from 'vitest'
import { parseCommand, parseCreation, parseId } from '../../src/core/host/resources/sandbox-options.ts'
import { sandboxSpec } from '../../src/core/worker/sandbox/sandbox.ts'
import { NO_NETWORK } from '../../src/core/worker/sandbox-network.ts'

const KEY = 'abcdefgh12345678'
const ID = '0123456789ab'

test('a plain request gives a sandbox without network', () => {
  expect(parseCreation({ key: KEY, token: 't', epoch: 1 })).toEqual({
    key: KEY,
    image: undefined,
    environment: {},
    network: 'none',
  })
  expect(
    parseCommand({
      container_id: ID,
      command: ['ls', '-l'],
      stdin: 'ü',
      timeout_seconds: 5,
      cwd: '/tmp',
      environment: { A: 'b' },
    }),
  ).toEqual({
    id: ID,
    command: ['ls', '-l'],
    directory: '/tmp',
    environment: { A: 'b' },
    stdin: Buffer.from('ü'),
    limitMs: 5_000,
  })
  expect(parseCommand({ container_id: ID, command: ['ls'] }).limitMs).toBe(600_000)
})

test.each<[string, Record<string, unknown>]>([
  ['privileged', { privileged: true }],
  ['binds', { binds: ['/:/host'] }],
  ['Binds as the engine calls them', { HostConfig: { Binds: ['/:/host'] } }],
  ['mounts', { mounts: [] }],
  ['a user', { user: 'root' }],
  ['capabilities', { cap_add: ['ALL'] }],
  ['labels', { labels: { 'resolve.instance': 'other' } }],
  ['the network of the host', { network: 'host' }],
  ['the network of another container', { network: 'container:abc' }],
  ['a network by name', { network: 'resolve-0123456789ab-egress' }],
  ['no key', { key: undefined }],
  ['a key that is a path', { key: '../../../../x' }],
  ['a short key', { key: 'abc' }],
  ['an image that is no text', { image: ['a'] }],
  ['a variable with a line end', { environment: { 'A\nB': 'c' } }],
  ['a variable with an equals sign', { environment: { 'A=B': 'c' } }],
  ['a value with a NUL', { environment: { A: 'b\0c' } }],
  ['a value that is no text', { environment: { A: 1 } }],
  ['an environment that is a list', { environment: ['A=b'] }],
  ['too many variables', { environment: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`A${at}`, ''])) }],
  ['__proto__', JSON.parse('{"__proto__x": 1}') as Record<string, unknown>],
])('a sub-container with %s is refused', (_, wish) => {
  expect(() => parseCreation({ key: KEY, ...wish })).toThrow(/Can't use a sandbox/)
})

test.each<[string, Record<string, unknown>]>([
  ['no command', { command: [] }],
  ['a command line', { command: 'rm -rf /' }],
  ['an empty program', { command: [''] }],
  ['a NUL in a word', { command: ['a', 'b\0c'] }],
  ['a number as a word', { command: ['a', 1] }],
  ['too many words', { command: Array(257).fill('a') }],
  ['a long word', { command: ['a', 'b'.repeat(200_000)] }],
  ['a relative directory', { cwd: 'tmp' }],
  ['a directory below /proc', { cwd: '/proc/self/fd/7' }],
  ['a directory that leads to /proc', { cwd: '/tmp/..//proc' }],
  ['a user', { user: '0' }],
  ['privileges', { privileged: true }],
  ['no limit', { timeout_seconds: 0 }],
  ['a limit below nothing', { timeout_seconds: -1 }],
  ['a limit without end', { timeout_seconds: 1e9 }],
  ['a limit that is none', { timeout_seconds: Number.NaN }],
  ['too much stdin', { stdin: 'x'.repeat(2 * 1024 * 1024 + 1) }],
  ['stdin that is no text', { stdin: { toString: 'x' } }],
  ['another id', { container_id: 'resolve-abc' }],
  ['a prefix of an id', { container_id: '0' }],
  ['an id that is a path', { container_id: '../../../containers' }],
])('a command with %s is refused', (_, wish) => {
  expect(() => parseCommand({ container_id: ID, command: ['a'], ...wish })).toThrow(/Can't use a sandbox/)
})

test('a sandbox id is the whole id that was answered', () => {
  expect(parseId({ container_id: ID })).toBe(ID)
  for (const id of ['', '0', `${ID}0`, ID.toUpperCase().replace('0', 'G'), null, 12]) {
    expect(() => parseId({ container_id: id })).toThrow(/container_id/)
  }
})

test('the container options sent to the engine are exactly these', () => {
  const plan = {
    instance: ID,
    home: 'home',
    key: KEY,
    image: 'image:1',
    environment: { A: 'b', HOME: '/elsewhere' },
    network: NO_NETWORK,
  }
  expect(sandboxSpec(plan, 2)).toEqual({
    name: 'resolve-0123456789ab-sandbox-2',
    Image: 'image:1',
    Labels: { 'resolve.home': 'home', 'resolve.role': 'sandbox', 'resolve.instance': ID, 'resolve.key': KEY },
    User: '1000:1000',
    WorkingDir: '/tmp',
    Env: ['HOME=/elsewhere', 'LANG=C.UTF-8', 'A=b'],
    Entrypoint: [],
    Cmd: ['sleep', 'infinity'],
    Healthcheck: { Test: ['NONE'] },
    Tty: false,
    OpenStdin: false,
    HostConfig: {
      Init: true,
      PidsLimit: 256,
      Memory: 2_147_483_648,
      MemorySwap: 2_147_483_648,
      NanoCpus: 1_000_000_000,
      CapDrop: ['ALL'],
      CapAdd: [],
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': 'rw,exec,nosuid,nodev,mode=1777,size=1073741824' },
      Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
      RestartPolicy: { Name: 'no' },
      AutoRemove: false,
      NetworkMode: 'none',
      Dns: [],
      DnsOptions: [],
      IpcMode: 'private',
      LogConfig: { Type: 'none', Config: {} },
    },
  })
})
