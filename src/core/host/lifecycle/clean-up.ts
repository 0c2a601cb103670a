/** What a host does when a run is over, before its end is told: no sandbox, network or secret stays behind, nothing half written, no question open (R43). */
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

/** How many files a warning names. */
const PATHS_TOLD = 10

export async function cleanUp(remains: Remains): Promise<void> {
  const { ledger, driver, coordination, config, resources } = remains
  await resources.end()
  await warnOfData(remains)
  const steps = [
    () => driver.rewriteOutput((text) => ledger.redactor.text(text)),
    () => scrubFiles(coordination, ledger.redactor),
    () => failpoint('end.scrubbing'),
    // After the others: whoever does them again has to know what to look for.
    () => scrubConfig(coordination, config),
    () => coordination.clearDrafts(),
    // Nobody answers them any more; after a resume one may be asked again under its name.
    ...pendingRequests(ledger.story).map(
      ({ id }) =>
        () =>
          coordination.remove(requestFile(id)),
    ),
  ]
  // Each waits for room on a full disk, as the end itself does; what the resolver planted there must not keep the run from ending.
  for (const step of steps) await remains.write(step).catch(() => {})
}

/** Each step is tried, whatever becomes of those before it. */
export function tryAll(...steps: (() => void)[]): void {
  for (const step of steps) {
    try {
      step()
    } catch {
      // As said above.
    }
  }
}

/** Data files keep their bytes: that they hold a known secret is told. */
async function warnOfData({ ledger, coordination, write }: Remains): Promise<void> {
  const found = await findInData(coordination, ledger.redactor).catch(() => [])
  if (found.length === 0) return
  const data = { kind: 'secret_in_data', value: found.length, limit: 0, paths: found.slice(0, PATHS_TOLD) }
  await write(() => ledger.record('platform.watchdog.warning', data))
}
