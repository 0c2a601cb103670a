/** Cleans up after a run, before its end is written: removes sandboxes, network, secrets, half-written files and open requests (R43). */
import { failpoint } from '../../failpoints.ts'
import { requestFile } from '../../protocol/coordination.ts'
import type { InstanceConfig } from '../../protocol/instance.ts'
import { pendingRequests } from '../../view/story.ts'
import type { CoordinationDirectory, Driver } from '../../worker/worker.ts'
import { findInData, scrubFiles } from '../ingest/secrets.ts'
import { scrubConfig } from '../launch/config.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { InstanceResources } from '../resources/instance-resources.ts'

export interface Remains {
  ledger: Ledger
  driver: Driver
  coordination: CoordinationDirectory
  config: InstanceConfig
  resources: InstanceResources
  /** Writes to the journal, waiting for room where the disk is full. */
  write: (line: () => void) => Promise<void>
}

/** A warning names at most this many files. */
const PATHS_TOLD = 10

export async function cleanUp(remains: Remains): Promise<void> {
  const { ledger, driver, coordination, config, resources } = remains
  await resources.end()
  await warnOfData(remains)
  const steps = [
    () => driver.rewriteOutput((text) => ledger.redactor.text(text)),
    () => scrubFiles(coordination, ledger.redactor),
    () => failpoint('end.scrubbing'),
    // After the other steps: a host that repeats them needs the secrets of the config to search for them.
    () => scrubConfig(coordination, config),
    () => coordination.clearDrafts(),
    // They cannot be answered any more. After a resume the resolver may ask one again under the same name.
    ...pendingRequests(ledger.story).map(
      ({ id }) =>
        () =>
          coordination.remove(requestFile(id)),
    ),
  ]
  // Each step waits while the disk is full, as the end itself does. Any other failure, which a resolver can provoke, must not block the end.
  for (const step of steps) await remains.write(step).catch(() => {})
}

/** Runs every step, even where an earlier one throws. */
export function tryAll(...steps: (() => void)[]): void {
  for (const step of steps) {
    try {
      step()
    } catch {
      // The next step runs all the same.
    }
  }
}

/** Data files are not changed: a warning names those that contain a known secret. */
async function warnOfData({ ledger, coordination, write }: Remains): Promise<void> {
  const found = await findInData(coordination, ledger.redactor).catch(() => [])
  if (found.length === 0) return
  const data = { kind: 'secret_in_data', value: found.length, limit: 0, paths: found.slice(0, PATHS_TOLD) }
  await write(() => ledger.record('platform.watchdog.warning', data))
}
