/**
 * Sets up the network of the build of a reality check: a network and a proxy of its own, beside those of the instance's worker
 * (docs/manifest.md, The network). The check opens it, and removes it at the end of the build; the reaper removes what a killed host left.
 */
import type { Engine } from '../engine/engine.ts'
import { checkMirrors } from './check-mirrors.ts'
import { type Egress, openEgress } from './egress.ts'
import type { Denial } from './egress-reports.ts'
import { type NetworkOwner, removeNetwork } from './network.ts'

export interface CheckEgressPlan {
  instance: string
  /** The key of the home. */
  home: string
  /** The check: what an earlier one of the instance left is removed. */
  session: string
  /** public: every public host at ports 80 and 443, and the mirrors of the operator. mirrors: only these. */
  mode: 'public' | 'mirrors'
  /** Called for refused connections; the first of each kind at once. */
  onDenied: (denial: Denial) => void
  /** For tests: another resolver for names. */
  resolve?: (host: string) => Promise<string[]>
  /** Where RESOLVE_CHECK_MIRRORS is. */
  env?: NodeJS.ProcessEnv
}

export interface CheckEgress extends Egress {
  /** Closes it and removes the network; its containers must be gone. The reaper removes what an unreachable engine keeps. */
  remove(): Promise<void>
}

/**
 * npm tries a connection that was closed again after 10 s and after a minute, for one package after the other: a build that was refused would
 * last for minutes.
 */
const NPM_RETRIES = { npm_config_fetch_retries: '0' }

/** Throws `check_mirrors_invalid`, `container_refused`, `docker_unreachable`. */
export async function openCheckEgress(engine: Engine, plan: CheckEgressPlan): Promise<CheckEgress> {
  const { instance, home, session, mode, onDenied, resolve, env } = plan
  const owner: NetworkOwner = { instance, home, session, role: 'check' }
  const mirrors = checkMirrors(env)
  const egress = await openEgress(engine, {
    ...owner,
    network: 'allowlist',
    egress: [],
    publicHosts: mode === 'public',
    mirrors,
    answers: 'close',
    onDenied,
    ...(resolve === undefined ? {} : { resolve }),
  })
  return {
    ...egress,
    environment: { ...egress.environment, ...NPM_RETRIES },
    remove: async () => {
      await egress.close()
      await removeNetwork(engine, owner).catch(() => undefined)
    },
  }
}
