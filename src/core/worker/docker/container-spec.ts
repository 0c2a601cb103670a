/**
 * What the engine is asked to create, decided here and nowhere else (spec, Limits; threats B7, D14). Pure. Every field of HostConfig
 * is written out below: nothing a manifest or a resolver says is ever merged into it.
 */

import {
  CONTAINER_CPUS,
  CONTAINER_LOG_FILES,
  CONTAINER_LOG_SIZE,
  CONTAINER_MEMORY_BYTES,
  CONTAINER_PIDS_MAX,
  CONTAINER_SWAP_BYTES,
} from '../../limits.ts'
import type { ContainerRole } from '../engine/container-places.ts'

export interface ContainerMount {
  source: string
  target: string
  readOnly: boolean
}

export interface ContainerPlan {
  role: ContainerRole
  /** The platform's home, by {@link file://./../engine/container-places.ts}. */
  home: string
  /** The instance it belongs to; none for an inquiry. */
  instance: string | null
  incarnation: number
  name: string
  image: string
  command: readonly string[]
  directory: string
  environment: Readonly<Record<string, string>>
  /** Who the resolver is inside: never 0, but for setup, which is always root. */
  user: { uid: number; gid: number }
  mounts: readonly ContainerMount[]
  /** For NetworkMode: `bridge`, `none`, or a network of ours. */
  network: string
  dns?: readonly string[]
  dnsOptions?: readonly string[]
}

/** What setup may do beside being root: install packages, and nothing to the machine. */
const SETUP_CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID']

const NANO = 1e9

/** The body of `POST /containers/create`, and the name. */
export function containerSpec(plan: ContainerPlan) {
  const isInquiry = plan.role === 'inquiry'
  return {
    name: plan.name,
    Image: plan.image,
    Labels: labelsOf(plan),
    User: plan.role === 'setup' ? '0:0' : `${plan.user.uid}:${plan.user.gid}`,
    WorkingDir: plan.directory,
    Env: Object.entries(plan.environment).map(([name, value]) => `${name}=${value}`),
    // The image's own are never run: a worker is its command under the init, and nothing else.
    Entrypoint: [],
    Cmd: [...plan.command],
    Healthcheck: { Test: ['NONE'] },
    Tty: false,
    OpenStdin: plan.role !== 'setup',
    // A worker's stdin stays open when its host dies (threats D4); who only answers questions ends with who asks.
    StdinOnce: isInquiry,
    AttachStdin: plan.role !== 'setup',
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: {
      Init: true,
      PidsLimit: CONTAINER_PIDS_MAX,
      Memory: CONTAINER_MEMORY_BYTES,
      MemorySwap: CONTAINER_SWAP_BYTES,
      NanoCpus: CONTAINER_CPUS * NANO,
      CapDrop: ['ALL'],
      CapAdd: plan.role === 'setup' ? [...SETUP_CAPABILITIES] : [],
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
      RestartPolicy: { Name: 'no' },
      // The exit code and the last words of a worker must be there when its next host comes (threats D14).
      AutoRemove: isInquiry,
      NetworkMode: plan.network,
      ...(plan.dns === undefined ? {} : { Dns: [...plan.dns], DnsOptions: [...(plan.dnsOptions ?? [])] }),
      IpcMode: 'private',
      LogConfig: {
        Type: 'json-file',
        Config: { 'max-size': CONTAINER_LOG_SIZE, 'max-file': String(CONTAINER_LOG_FILES) },
      },
      Mounts: plan.mounts.map(({ source, target, readOnly }) => ({
        Type: 'bind' as const,
        Source: source,
        Target: target,
        ReadOnly: readOnly,
        BindOptions: { Propagation: 'rprivate' as const },
      })),
    },
  }
}

function labelsOf({ role, home, instance, incarnation }: ContainerPlan): Record<string, string> {
  return {
    'resolve.home': home,
    'resolve.role': role,
    'resolve.instance': instance ?? '',
    'resolve.incarnation': String(incarnation),
  }
}
