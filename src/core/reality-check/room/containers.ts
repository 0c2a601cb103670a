/**
 * The containers of a reality check as bodies of `POST /containers/create` (docs/reality-check.md, The room). Pure; nothing of the checked software is
 * merged into them but its image, its environment and its command.
 */
import * as limits from '../../limits.ts'
import { hardened } from '../../worker/engine/hardening.ts'
import type { SandboxNetwork } from '../../worker/sandbox-network.ts'

export interface RoomOwner {
  instance: string
  /** The key of the home. */
  home: string
  /** The id of the check. */
  session: string
}

export const ROOM_ROLE = 'room'
/** Where the sources are, in a directory that any user may write to. */
export const APP = '/var/tmp/room/app'
export const CACHE = '/var/tmp/room/cache'
/** Serves pages that need no program of their own. */
export const STATIC_SERVER = '/var/tmp/room/static-server.mjs'

/** The software runs as this user; the validator and the commands of tests are others, who cannot change its files. */
const SOFTWARE_USER = '1000:1000'
const VALIDATOR_USER = '1001:1001'
export const COMMAND_USER = '1002:1002'

type Part = 'build' | 'holder' | 'software' | 'validator' | 'command'

export function roomName({ instance, session }: RoomOwner, part: Part): string {
  return `resolve-${instance}-check-${session}-${part}`
}

function common(owner: RoomOwner, part: Part, image: string, environment: Readonly<Record<string, string>>) {
  return {
    name: roomName(owner, part),
    Image: image,
    Labels: {
      'resolve.home': owner.home,
      'resolve.role': ROOM_ROLE,
      'resolve.instance': owner.instance,
      'resolve.session': owner.session,
      'resolve.part': part,
    },
    Env: Object.entries({ HOME: '/tmp', LANG: 'C.UTF-8', ...environment }).map(([name, value]) => `${name}=${value}`),
    Entrypoint: [] as string[],
    Healthcheck: { Test: ['NONE'] },
    Tty: false,
    OpenStdin: false,
  }
}

const WAIT = ['sleep', 'infinity']

/** Builds the software; its file system becomes the image of the room. */
export function buildSpec(
  owner: RoomOwner,
  image: string,
  environment: Readonly<Record<string, string>>,
  network: SandboxNetwork,
) {
  return {
    ...common(owner, 'build', image, { ...environment, ...network.environment }),
    User: SOFTWARE_USER,
    WorkingDir: '/',
    Cmd: WAIT,
    HostConfig: {
      ...hardened({
        pids: limits.CHECK_BUILD_PIDS_MAX,
        memoryBytes: limits.CHECK_BUILD_MEMORY_BYTES,
        cpus: limits.CHECK_BUILD_CPUS,
      }),
      CapAdd: [] as string[],
      AutoRemove: false,
      NetworkMode: network.mode,
      Dns: [...network.dns],
      DnsOptions: [...network.dnsOptions],
      LogConfig: { Type: 'none', Config: {} },
    },
  }
}

/** Owns the network namespace of the room, in which there is only loopback. */
export function holderSpec(owner: RoomOwner, image: string) {
  return {
    ...common(owner, 'holder', image, {}),
    User: VALIDATOR_USER,
    WorkingDir: '/',
    Cmd: WAIT,
    HostConfig: {
      ...hardened({ pids: 8, memoryBytes: limits.CHECK_HOLDER_MEMORY_BYTES, cpus: 0.1 }),
      CapAdd: [] as string[],
      ReadonlyRootfs: true,
      AutoRemove: false,
      NetworkMode: 'none',
      // "localhost" may be ::1, which a container without a network has not otherwise.
      Sysctls: { 'net.ipv6.conf.all.disable_ipv6': '0', 'net.ipv6.conf.lo.disable_ipv6': '0' },
      LogConfig: { Type: 'none', Config: {} },
    },
  }
}

export interface SoftwareStart {
  image: string
  /** null: it only waits, for the commands of the tests. */
  command: string | null
  directory: string
  environment: Readonly<Record<string, string>>
}

export function softwareSpec(owner: RoomOwner, start: SoftwareStart, holder: string) {
  return {
    ...common(owner, 'software', start.image, start.environment),
    User: SOFTWARE_USER,
    WorkingDir: start.directory,
    Cmd: start.command === null ? WAIT : ['sh', '-c', start.command],
    HostConfig: {
      ...hardened({
        pids: limits.CHECK_RUN_PIDS_MAX,
        memoryBytes: limits.CHECK_RUN_MEMORY_BYTES,
        cpus: limits.CHECK_RUN_CPUS,
      }),
      CapAdd: [] as string[],
      AutoRemove: false,
      NetworkMode: `container:${holder}`,
      LogConfig: { Type: 'json-file', Config: { 'max-size': String(limits.CHECK_LOG_MAX_BYTES), 'max-file': '2' } },
    },
  }
}

/** A container of its own for each test of a command: what one leaves, another does not find. */
export function commandSpec(owner: RoomOwner, start: SoftwareStart, test: string) {
  const { NetworkMode: _, LogConfig: __, ...host } = softwareSpec(owner, start, '').HostConfig
  return {
    ...softwareSpec(owner, { ...start, command: null }, ''),
    name: `${roomName(owner, 'command')}-${test}`,
    HostConfig: { ...host, NetworkMode: 'none', LogConfig: { Type: 'none', Config: {} } },
  }
}

/** The validator waits; its program is started beside, as a helper of a worker is. */
export function validatorSpec(
  owner: RoomOwner,
  image: string,
  holder: string,
  platform: { source: string; target: string },
) {
  return {
    ...common(owner, 'validator', image, {}),
    User: VALIDATOR_USER,
    WorkingDir: '/',
    Cmd: WAIT,
    HostConfig: {
      ...hardened({ pids: 512, memoryBytes: 2 * limits.GIB, cpus: 1 }),
      CapAdd: [] as string[],
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': 'rw,exec,nosuid,nodev,mode=1777,size=536870912' },
      ShmSize: 64 * limits.MIB,
      AutoRemove: false,
      NetworkMode: `container:${holder}`,
      Mounts: [
        {
          Type: 'bind' as const,
          Source: platform.source,
          Target: platform.target,
          ReadOnly: true,
          BindOptions: { Propagation: 'rprivate' as const },
        },
      ],
      LogConfig: { Type: 'none', Config: {} },
    },
  }
}
