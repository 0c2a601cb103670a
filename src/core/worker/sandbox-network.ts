/** The network of a sandbox: part of the contract in {@link file://./worker.ts}. */

/** Which part of its instance's network a sandbox may use: never more than the worker has. */
export interface SandboxNetwork {
  mode: string
  dns: readonly string[]
  dnsOptions: readonly string[]
  environment: Readonly<Record<string, string>>
}

export const NO_NETWORK: SandboxNetwork = { mode: 'none', dns: [], dnsOptions: [], environment: {} }
/** The engine's default network. */
export const BRIDGE: SandboxNetwork = { ...NO_NETWORK, mode: 'bridge' }
