/**
 * Builds the request that creates a container; this is the only place that decides its content (spec, Limits; threats B7, D14).
 * Pure. Every field of HostConfig is written out below: no object of a manifest or a resolver is merged into it.
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
import { bindMount, hardened } from '../engine/hardening.ts'

export interface ContainerMount {
  source: string
  target: string
  readOnly: boolean
}

export interface ContainerPlan {
  role: ContainerRole
  /** The key of the platform's home, from {@link file://./../engine/container-places.ts}. */
  home: string
  /** The instance it belongs to; undefined for an inquiry. */
  instance: string | null
  incarnation: number
  name: string
  image: string
  command: readonly string[]
  directory: string
  environment: Readonly<Record<string, string>>
  /** The user of the resolver inside: never 0, except for setup, which always runs as root. */
  user: { uid: number; gid: number }
  mounts: readonly ContainerMount[]
  /** NetworkMode: `bridge`, `none`, or a network of the platform. */
  network: string
  dns?: readonly string[]
  dnsOptions?: readonly string[]
}

/** The capabilities of setup: enough to install packages, none that reach the machine. */
const SETUP_CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID']

/** The body of `POST /containers/create`, and the container's name. */
export function containerSpec(plan: ContainerPlan) {
  const isInquiry = plan.role === 'inquiry'
  return {
    name: plan.name,
    Image: plan.image,
    Labels: labelsOf(plan),
    User: plan.role === 'setup' ? '0:0' : `${plan.user.uid}:${plan.user.gid}`,
    WorkingDir: plan.directory,
    Env: Object.entries(plan.environment).map(([name, value]) => `${name}=${value}`),
    // The entry point of the image is not used: the container runs the resolver's command under the init.
    Entrypoint: [],
    Cmd: [...plan.command],
    Healthcheck: { Test: ['NONE'] },
    Tty: false,
    OpenStdin: plan.role !== 'setup',
    // The stdin of a worker stays open when its host dies (threats D4); that of an inquiry closes with its caller, and the
    // container ends.
    StdinOnce: isInquiry,
    AttachStdin: plan.role !== 'setup',
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: {
      ...hardened({
        pids: CONTAINER_PIDS_MAX,
        memoryBytes: CONTAINER_MEMORY_BYTES,
        swapBytes: CONTAINER_SWAP_BYTES,
        cpus: CONTAINER_CPUS,
      }),
      CapAdd: plan.role === 'setup' ? [...SETUP_CAPABILITIES] : [],
      // The next host must find the exit code and the last output of a worker (threats D14).
      AutoRemove: isInquiry,
      NetworkMode: plan.network,
      ...(plan.dns === undefined ? {} : { Dns: [...plan.dns], DnsOptions: [...(plan.dnsOptions ?? [])] }),
      LogConfig: {
        Type: 'json-file',
        Config: { 'max-size': CONTAINER_LOG_SIZE, 'max-file': String(CONTAINER_LOG_FILES) },
      },
      Mounts: plan.mounts.map(({ source, target, readOnly }) => bindMount(source, target, readOnly)),
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
