/** The sub-containers of an instance, as its birth and this machine allow them. */
import type { Birth } from '../protocol/journal.ts'
import { homeLabel } from '../worker/container-places.ts'
import { theEngine } from '../worker/engine.ts'
import { NO_NETWORK, type SubContainerNetwork } from '../worker/sub-container.ts'
import type { Worker } from '../worker/worker.ts'
import { chooseImage } from '../worker/worker-image.ts'
import type { Mailbox } from './mailbox.ts'
import { SubContainers } from './sub-containers.ts'

export interface SubContainersParts {
  birth: Birth
  home: string
  token: string
  epoch: number
  mailbox: Mailbox
  worker: () => Worker | undefined
}

export function subContainersOf({ birth, home, token, epoch, mailbox, worker }: SubContainersParts): SubContainers {
  const wanted = birth.container?.image ?? birth.resolver.manifest.container?.image ?? null
  return new SubContainers({
    owner: { instance: birth.instance_id, home: homeLabel(home) },
    token,
    epoch,
    images: [chooseImage(wanted).name, ...allowedImages()],
    network: () => networkOf(birth, worker()),
    engine: theEngine,
    use: { note: () => mailbox.markSandbox(), isNoted: () => mailbox.hasSandbox() },
  })
}

/** RESOLVE_SANDBOX_IMAGES: names, separated by commas. */
function allowedImages(env: NodeJS.ProcessEnv = process.env): string[] {
  return (env['RESOLVE_SANDBOX_IMAGES'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
}

/** Never more than the worker has: a sub-container must not be a way around an allowlist. */
function networkOf(birth: Birth, worker: Worker | undefined): SubContainerNetwork | undefined {
  switch (birth.resolver.manifest.container?.network ?? 'open') {
    case 'open':
      return { ...NO_NETWORK, mode: 'bridge' }
    case 'none':
      return NO_NETWORK
    case 'allowlist':
      return worker?.network
  }
}
