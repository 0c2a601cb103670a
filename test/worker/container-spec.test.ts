/** What the engine is asked to create, to the last field; and that no manifest reaches a field of HostConfig that we did not choose. */
import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseManifest } from '../../src/core/catalog/manifest/parse-manifest.ts'
import { ResolveError } from '../../src/core/errors.ts'
import { containerLaunch, containerOptions } from '../../src/core/host/launch/container-launch.ts'
import { containerEnvironment, refuseEnvironment } from '../../src/core/worker/docker/container-environment.ts'
import { type ContainerPlan, containerSpec } from '../../src/core/worker/docker/container-spec.ts'
import { volumeMounts, volumePolicy } from '../../src/core/worker/docker/volumes.ts'
import { type ContainerRole, containerName } from '../../src/core/worker/engine/container-places.ts'

const GIB = 1024 ** 3

function planned(role: ContainerRole, more: Partial<ContainerPlan> = {}): ContainerPlan {
  return {
    role,
    home: 'a1b2c3d4e5f6',
    instance: '0123456789ab',
    incarnation: 2,
    name: containerName(role, '0123456789ab', 2),
    image: 'sha256:feed',
    command: ['node', 'resolver.js'],
    directory: '/resolver',
    environment: { LANG: 'C.UTF-8' },
    user: { uid: 1000, gid: 1000 },
    mounts: [{ source: '/home/p', target: '/project', readOnly: false }],
    network: 'bridge',
    ...more,
  }
}

/** HostConfig but its mounts. */
const GOLDEN = {
  Init: true,
  PidsLimit: 256,
  Memory: 8 * GIB,
  MemorySwap: 8 * GIB,
  NanoCpus: 2_000_000_000,
  CapDrop: ['ALL'],
  CapAdd: [],
  SecurityOpt: ['no-new-privileges'],
  Privileged: false,
  Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
  RestartPolicy: { Name: 'no' },
  AutoRemove: false,
  NetworkMode: 'bridge',
  IpcMode: 'private',
  LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
}

test('the container of a worker, field by field (S-LIM-01, R53)', () => {
  expect(containerSpec(planned('worker'))).toEqual({
    name: 'resolve-0123456789ab-2',
    Image: 'sha256:feed',
    Labels: {
      'resolve.home': 'a1b2c3d4e5f6',
      'resolve.role': 'worker',
      'resolve.instance': '0123456789ab',
      'resolve.incarnation': '2',
    },
    User: '1000:1000',
    WorkingDir: '/resolver',
    Env: ['LANG=C.UTF-8'],
    Entrypoint: [],
    Cmd: ['node', 'resolver.js'],
    Healthcheck: { Test: ['NONE'] },
    Tty: false,
    OpenStdin: true,
    StdinOnce: false,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: {
      ...GOLDEN,
      Mounts: [
        {
          Type: 'bind',
          Source: '/home/p',
          Target: '/project',
          ReadOnly: false,
          BindOptions: { Propagation: 'rprivate' },
        },
      ],
    },
  })
})

test('setup runs as root with few capabilities and no stdin; an inquiry ends with the process that asks', () => {
  const setup = containerSpec(planned('setup'))
  expect(setup).toMatchObject({ User: '0:0', OpenStdin: false, name: 'resolve-0123456789ab-setup-2' })
  const added = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID']
  expect(setup.HostConfig).toMatchObject({ ...GOLDEN, CapAdd: added })
  const inquiry = containerSpec(planned('inquiry', { instance: null, network: 'none' }))
  expect(inquiry).toMatchObject({ User: '1000:1000', OpenStdin: true, StdinOnce: true })
  expect(inquiry.HostConfig).toMatchObject({ ...GOLDEN, AutoRemove: true, NetworkMode: 'none' })
})

// threats MAN-3
test('an environment may not change how programs are found or loaded, nor variables of the platform', () => {
  for (const name of [
    'LD_PRELOAD',
    'NODE_OPTIONS',
    'PATH',
    'DOCKER_HOST',
    'GIT_SSH_COMMAND',
    'RESOLVE_DIR',
    'ld_audit',
  ]) {
    expect(() => refuseEnvironment('r', { [name]: 'x' })).toThrow(`may not set ${name}`)
  }
  expect(() => refuseEnvironment('r', { GREETING: 'x', HTTP_PROXY: 'y' })).not.toThrow()
  const options = {
    added: { GREETING: 'x', LANG: 'C' },
    hasSdk: true,
    uid: 1000,
    hasInstance: true,
    bundles: ['/opt/a', '/opt/b'],
  }
  expect(containerEnvironment(options)).toEqual({
    GREETING: 'x',
    LANG: 'C.UTF-8',
    NODE_OPTIONS: '--import=file:///usr/local/lib/resolve/sdk/register.js',
    RESOLVE_BUNDLES: '/opt/a:/opt/b',
    RESOLVE_CHANNEL: '1',
    RESOLVE_DIR: '/project/.resolve',
    TINI_KILL_PROCESS_GROUP: '1',
  })
  expect(containerEnvironment({ ...options, uid: 1234 })).toMatchObject({ HOME: '/tmp' })
})

let root: string
let home: string
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'resolve-volumes-')))
  home = join(root, 'home')
  for (const path of ['home/instances', 'allowed/deep', 'writable', 'other'])
    mkdirSync(join(root, path), { recursive: true })
  symlinkSync('/etc', join(root, 'allowed/etc'))
  symlinkSync(join(root, 'allowed/deep'), join(root, 'other/into-allowed'))
  writeFileSync(join(root, 'allowed/file'), '')
})

// The engine's socket is one of this test: a machine without an engine has none.
const engine = createServer()
const other = createServer()
const listening = (server: Server, path: string) => new Promise<void>((resolve) => server.listen(path, resolve))
beforeAll(() => listening(engine, join(root, 'engine.sock')))
afterAll(() => {
  engine.close()
  other.close()
})

function policy(allow = `${root}/allowed:${root}/writable=rw`) {
  return volumePolicy(home, join(root, 'engine.sock'), { RESOLVE_VOLUME_ALLOW: allow, HOME: '/root' })
}

// threats MAN-1
test('a volume is mounted if an operator allowed its real path, read-only unless both permit writing (S-MAN-15)', () => {
  const wanted = [
    `${root}/allowed:/data`,
    { source: `${root}/allowed/deep`, target: '/deep' },
    `${root}/writable:/out:rw`,
    `${root}/other/into-allowed:/through`,
    `${root}/allowed/file:/one-file:ro`,
  ]
  expect(volumeMounts(wanted, policy())).toEqual([
    { source: `${root}/allowed`, target: '/data', readOnly: true },
    { source: `${root}/allowed/deep`, target: '/deep', readOnly: true },
    { source: `${root}/writable`, target: '/out', readOnly: false },
    { source: `${root}/allowed/deep`, target: '/through', readOnly: true },
    { source: `${root}/allowed/file`, target: '/one-file', readOnly: true },
  ])
})

// A container that may write to a directory can replace an entry of it by a link before the engine resolves the mount of another.
test('no path below a directory that containers may write to is mounted, read-only or not', () => {
  mkdirSync(join(root, 'writable/sub'), { recursive: true })
  const both = `${root}/writable=rw:${root}/writable/sub`
  for (const allow of [`${root}/writable=rw`, both, `${root}/writable/sub=rw:${root}/writable=rw`]) {
    for (const mount of [`${root}/writable/sub:/x`, `${root}/writable/sub:/x:rw`]) {
      expect(() => volumeMounts([mount], policy(allow)), `${mount} of ${allow}`).toThrow(/mounted as a whole/)
    }
  }
  expect(volumeMounts([`${root}/writable:/x:rw`], policy())).toHaveLength(1)
  expect(volumeMounts([`${root}/writable/sub:/x:rw`], policy(`${root}/writable/sub=rw`))).toHaveLength(1)
})

test('every other volume is refused with the reason, whatever an operator allows', async () => {
  await listening(other, join(root, 'allowed/socket'))
  const refused: [unknown, RegExp, string?][] = [
    [`${root}/other:/x`, /the operator does not allow/],
    [`${root}/allowed/etc:/x`, /\/etc may not be mounted/],
    [`${root}/allowed/../other:/x`, /the operator does not allow/],
    [`${root}/allowed:/x:rw`, /allowed read-only/],
    [`${root}/allowed/socket:/x`, /neither a directory nor a file/],
    [`${root}/nowhere:/x`, /not an existing absolute path/],
    ['relative:/x', /not an existing absolute path/],
    ['/:/x', /may not be mounted/, '/'],
    ['/proc:/x', /may not be mounted/, '/'],
    ['/proc/self:/x', /may not be mounted|neither/, '/'],
    [`${root}/engine.sock:/x`, /neither/, '/'],
    ['/var/run/docker.sock:/x', /neither|not an existing absolute path/, '/'],
    ['/var/run:/x', /may not be mounted/, '/'],
    ['/var:/x', /may not be mounted/, '/'],
    ['/root:/x', /may not be mounted/, '/'],
    [`${root}/home:/x`, /may not be mounted/, '/'],
    [`${root}/home/instances:/x`, /may not be mounted/, '/'],
    [`${root}:/x`, /may not be mounted/, '/'],
    [`${root}/allowed:/project/.resolve/config.json`, /is reserved/],
    [`${root}/allowed:/`, /plain absolute path/],
    [`${root}/allowed:/usr/local`, /is reserved/],
    [`${root}/allowed:/proc/x`, /is reserved/],
    [`${root}/allowed:/a/../etc`, /plain absolute path/],
    [`${root}/allowed:x`, /plain absolute path/],
    [{ source: `${root}/allowed`, target: '/x', propagation: 'shared' }, /must be/],
    [{ Source: `${root}/allowed`, Target: '/x' }, /must be/],
    [`${root}/allowed:/x:z`, /must be/],
    [42, /must be/],
    [null, /must be/],
  ]
  for (const [mount, reason, allow] of refused) {
    expect(() => volumeMounts([mount], policy(allow)), JSON.stringify(mount)).toThrow(reason)
  }
  expect(() => volumeMounts([`${root}/allowed:/x`, `${root}/allowed:/x`], policy())).toThrow('/x is taken')
})

// threats B7, MAN-4: nothing in a manifest makes a field of HostConfig
test('500 mutations of a manifest: a fault of the manifest, a refusal, or a HostConfig of the golden shape', async () => {
  const evil = fc.constantFrom(
    ...[
      'Privileged',
      'privileged',
      'HostConfig',
      'network',
      'NetworkMode',
      'devices',
      'pid',
      'ipc',
      'cap_add',
      'CapAdd',
      'user',
    ],
    ...[
      'security_opt',
      'userns',
      'cgroup_parent',
      '__proto__',
      'constructor',
      'image',
      'command',
      'setup_commands',
      'bundles',
    ],
    ...['volume_mounts', 'dev_source_overrides', 'environment', 'Mounts', 'Binds'],
  )
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom('host', true, ['ALL'], ['/:/host'], [`${'/'}:/x:rw`], { Privileged: true }, [
      '--privileged',
      'node',
    ]),
    fc.constantFrom(['echo "$(id)"'], 'debian:12', ['/opt/../..'], [{ Type: 'bind', Source: '/', Target: '/h' }]),
  )
  const container = fc.dictionary(evil, value, { maxKeys: 4 })
  const outcomes = { fault: 0, refused: 0, golden: 0 }
  await fc.assert(
    fc.asyncProperty(container, fc.dictionary(evil, value, { maxKeys: 3 }), async (mutated, answered) => {
      const base = { name: 'r', version: '1.0.0', description: 'A resolver', command: ['node', 'r.js'] }
      const { manifest } = await parseManifest({ ...base, container: mutated })
      if (manifest === null) {
        outcomes.fault += 1
        return
      }
      let spec: ReturnType<typeof containerSpec>
      try {
        const options = containerOptions(manifest, { container_setup: answered })
        const launch = containerLaunch(options, { commit: null })
        const mounts = volumeMounts(launch.volume_mounts, policy())
        spec = containerSpec(planned('worker', { command: options.command, mounts }))
      } catch (error) {
        if (!(error instanceof ResolveError)) throw error
        outcomes.refused += 1
        return
      }
      const { Mounts, ...rest } = spec.HostConfig
      expect(rest).toEqual(GOLDEN)
      expect(Mounts.every(({ Source }) => Source.startsWith(`${root}/allowed`))).toBe(true)
      expect([spec.User, spec.Entrypoint, spec.Tty]).toEqual(['1000:1000', [], false])
      outcomes.golden += 1
    }),
    { numRuns: 500, seed: 5 },
  )
  // All three ways out are taken, so that none is taken for another.
  for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(10)
})
