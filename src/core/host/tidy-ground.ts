/** Leaves the ground of an instance that ended as it shall be found: no secret, no draft, no question that nobody asks any more. */
import { requestFile } from '../protocol/coordination.ts'
import type { InstanceConfig } from '../protocol/instance.ts'
import type { Ground } from '../worker/worker.ts'
import { scrubConfig } from './config.ts'

/** What the resolver planted there, or a full disk, must not keep the run from ending: nothing is thrown. */
export function tidyGround(ground: Ground, config: InstanceConfig, withdrawn: readonly string[]): void {
  try {
    scrubConfig(ground, config)
    ground.clearDrafts()
    // A withdrawn request may be asked again after a resume, under its name.
    for (const id of withdrawn) ground.remove(requestFile(id))
  } catch {
    // As above.
  }
}
