/** What a sandbox may reach: part of the contract in {@link file://./worker.ts}, whose workers tell it. */

/** What of its instance's network it may use: never more than the worker has. */
export interface SandboxNetwork {
  mode: string
  dns: readonly string[]
  dnsOptions: readonly string[]
  environment: Readonly<Record<string, string>>
}

export const NO_NETWORK: SandboxNetwork = { mode: 'none', dns: [], dnsOptions: [], environment: {} }
/** The engine's ordinary one. */
export const BRIDGE: SandboxNetwork = { ...NO_NETWORK, mode: 'bridge' }
