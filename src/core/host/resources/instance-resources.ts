/** The resources that a host creates and ends together with a worker: its egress, its sandboxes, its git server, and the snapshots of its work. */
import { homeLabel } from '../../worker/engine/container-places.ts'
import { theEngine } from '../../worker/engine/engine.ts'
import { chooseImage } from '../../worker/engine/worker-image.ts'
import { CheckBroker } from '../checks/check-broker.ts'
import { InstanceEgress, type InstanceEgressParts } from './instance-egress.ts'
import { InstanceGit, type InstanceGitParts } from './instance-git.ts'
import { InstanceSnapshots } from './instance-snapshots.ts'
import { SandboxBroker } from './sandbox-broker.ts'

export interface InstanceResourcesParts extends InstanceEgressParts, InstanceGitParts {
  /** The options of sandboxes. */
  token: string
  epoch: number
}

export class InstanceResources {
  readonly egress: InstanceEgress
  readonly sandboxes: SandboxBroker
  readonly checks: CheckBroker
  readonly git: InstanceGit
  readonly snapshots: InstanceSnapshots

  constructor(parts: InstanceResourcesParts) {
    const { ledger, home, token, epoch } = parts
    const { creation } = ledger.story
    const wanted = creation.container?.image ?? creation.resolver.manifest.container?.image ?? null
    this.egress = new InstanceEgress(parts)
    this.git = new InstanceGit(parts)
    this.snapshots = new InstanceSnapshots(parts)
    const images = [chooseImage(wanted).name, ...allowedImages()]
    this.checks = new CheckBroker({ ...parts, images, engine: theEngine })
    this.sandboxes = new SandboxBroker({
      owner: { instance: creation.instance_id, home: homeLabel(home) },
      token,
      epoch,
      images,
      // Never more than the worker has: a sandbox must not bypass an allowlist.
      network: () => this.egress.network,
      engine: theEngine,
      use: {
        note: () => {
          if (!ledger.inbox.hasSandbox) ledger.keep({ kind: 'sandbox' })
        },
        isNoted: () => ledger.inbox.hasSandbox,
      },
    })
  }

  /** Releases them for the next host. */
  close(): void {
    this.git.close()
    this.checks.close()
    this.sandboxes.close()
    this.snapshots.close()
    void this.egress.close()
  }

  /** Called when no worker is left, before {@link end}: the last snapshot is made on top of what was pushed last. */
  async preserveWork(cause: 'pause' | 'end'): Promise<void> {
    await this.git.fetchLast()
    await this.snapshots.finish(cause)
  }

  /** Called when no worker is left; all of them are removed. The reaper removes what an unreachable engine keeps. */
  async end(): Promise<void> {
    await this.checks.end()
    await this.sandboxes.end()
    await this.git.rest()
    await this.egress.remove()
  }
}

/** RESOLVE_SANDBOX_IMAGES: image names separated by commas. */
function allowedImages(env: NodeJS.ProcessEnv = process.env): string[] {
  return (env['RESOLVE_SANDBOX_IMAGES'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
}
