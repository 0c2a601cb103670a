/** What the containers of this project have in common: their bounds and what they may not do (threats B4). Pure. */

export interface ContainerBounds {
  pids: number
  memoryBytes: number
  /** Memory and swap together; by default no swap. */
  swapBytes?: number
  cpus: number
}

const NANO = 1e9

/** Goes into the `HostConfig` of `POST /containers/create`. */
export function hardened({ pids, memoryBytes, swapBytes = memoryBytes, cpus }: ContainerBounds) {
  return {
    Init: true,
    PidsLimit: pids,
    Memory: memoryBytes,
    MemorySwap: swapBytes,
    NanoCpus: cpus * NANO,
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges'],
    Privileged: false,
    Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
    RestartPolicy: { Name: 'no' },
    IpcMode: 'private',
  }
}

/** A directory or file of this machine, in which later mounts do not show. */
export function bindMount(source: string, target: string, readOnly: boolean) {
  return {
    Type: 'bind' as const,
    Source: source,
    Target: target,
    ReadOnly: readOnly,
    BindOptions: { Propagation: 'rprivate' as const },
  }
}
