/**
 * Cleans up after a run, before its end is recorded: removes sandboxes, networks, secrets, unfinished files and open requests
 * (R43).
 */
import { failpoint } from '../../failpoints.ts'
import { requestFile } from '../../protocol/coordination.ts'
import type { InstanceConfig } from '../../protocol/instance.ts'
import { pendingRequests } from '../../view/story.ts'
import type { CoordinationDirectory, Driver } from '../../worker/worker.ts'
import { findInData, scrubFiles } from '../ingest/secrets.ts'
import { scrubConfig } from '../launch/config.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { scrubSent } from '../requests/publish.ts'
import type { InstanceResources } from '../resources/instance-resources.ts'

export interface Remains {
  ledger: Ledger
  driver: Driver
  coordination: CoordinationDirectory
  config: InstanceConfig
  resources: InstanceResources
  /** Writes to the journal; while the disk is full, it waits for free space. */
  write: (line: () => void) => Promise<void>
}

/** The most files that a warning names. */
const PATHS_TOLD = 10

export async function cleanUp(remains: Remains): Promise<void> {
  const { ledger, driver, coordination, config, resources } = remains
  await resources.end()
  await warnOfData(remains)
  const steps = [
    () => driver.rewriteOutput((text) => ledger.redactor.text(text)),
    () =>
      scrubFiles(
        coordination,
        ledger.redactor,
        ledger.story.requests.map(({ id }) => id),
      ),
    () => failpoint('end.scrubbing'),
    // After the others: if a host dies here, the next one needs the config to know the secrets.
    () => scrubConfig(coordination, config, ledger.story.creation.input),
    ...ledger.inbox.all().map((kept) => () => scrubSent(coordination, kept, () => ledger.payloadOf(kept))),
    () => coordination.clearDrafts(),
    // They can no longer be answered; after a resume a request may be asked again under the same name.
    ...pendingRequests(ledger.story).map(
      ({ id }) =>
        () =>
          coordination.remove(requestFile(id)),
    ),
  ]
  // Each step waits for space on a full disk, as the end itself does. Files planted by the resolver must not keep the run
  // from ending.
  for (const step of steps) await remains.write(step).catch(() => {})
}

/** Tries each step, even after others failed. */
export function tryAll(...steps: (() => void)[]): void {
  for (const step of steps) {
    try {
      step()
    } catch {
      // The next steps still run.
    }
  }
}

/** Data files are not changed: a warning says that they contain a known secret. */
async function warnOfData({ ledger, coordination, write }: Remains): Promise<void> {
  const found = await findInData(coordination, ledger.redactor).catch(() => [])
  if (found.length === 0) return
  const data = { kind: 'secret_in_data', value: found.length, limit: 0, paths: found.slice(0, PATHS_TOLD) }
  await write(() => ledger.record('platform.watchdog.warning', data))
}
