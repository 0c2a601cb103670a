/** What an instance has beside its worker, made and ended with it by its host: its way out and its sub-containers. */
import { homeLabel } from '../../worker/docker/container-places.ts'
import { theEngine } from '../../worker/engine/engine.ts'
import { chooseImage } from '../../worker/engine/worker-image.ts'
import type { Mailbox } from '../requests/mailbox.ts'
import { SubContainers } from './sandboxes.ts'
import { WayOut, type WayOutParts } from './instance-egress.ts'

export interface AnnexesParts extends WayOutParts {
  /** Of sub-containers. */
  token: string
  epoch: number
  mailbox: Mailbox
}

export class Annexes {
  readonly wayOut: WayOut
  readonly subContainers: SubContainers

  constructor(parts: AnnexesParts) {
    const { ledger, home, token, epoch, mailbox } = parts
    const { birth } = ledger.story
    const wanted = birth.container?.image ?? birth.resolver.manifest.container?.image ?? null
    this.wayOut = new WayOut(parts)
    this.subContainers = new SubContainers({
      owner: { instance: birth.instance_id, home: homeLabel(home) },
      token,
      epoch,
      images: [chooseImage(wanted).name, ...allowedImages()],
      // Never more than the worker has: a sub-container must not be a way around an allowlist.
      network: () => this.wayOut.network,
      engine: theEngine,
      use: { note: () => mailbox.markSandbox(), isNoted: () => mailbox.hasSandbox() },
    })
  }

  /** Lets go, for the next host. */
  close(): void {
    this.subContainers.close()
    void this.wayOut.close()
  }

  /** No worker is left, and none of these is. What an engine that is away keeps is the reaper's. */
  async end(): Promise<void> {
    await this.subContainers.end()
    await this.wayOut.remove()
  }
}

/** RESOLVE_SANDBOX_IMAGES: names, separated by commas. */
function allowedImages(env: NodeJS.ProcessEnv = process.env): string[] {
  return (env['RESOLVE_SANDBOX_IMAGES'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
}
