/** Collects what a creation needs before the first line of the journal: a valid input, and the plan for the worker (R10, R44). */
import { fail } from '../../errors.ts'
import type { Inquiries } from '../../host/inquiry/inquiries.ts'
import { availableCredentials } from '../../host/launch/config.ts'
import { containerOptions, refuseForContainer } from '../../host/launch/container-launch.ts'
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { CreationRecord, Executor } from '../../protocol/journal.ts'
import { newInstanceId } from '../../store/home.ts'
import type { CreateRequest } from '../platform.ts'
import { environmentOf } from './local-checks.ts'

/**
 * The creation record of the instance. Throws `form_invalid`, `form_malformed`, `feature_missing` and the errors of the
 * resolver's process.
 */
export async function prepareCreation(
  inquiries: Inquiries,
  entry: CatalogEntry,
  request: CreateRequest,
  executor: Executor,
): Promise<CreationRecord> {
  const { input } = request
  const spec = await inquiries.ask(entry, executor, (inquiry) => inquiry.admit(input, availableCredentials()))
  refuseWhatIsMissing(entry, spec)
  const environment = environmentOf(spec)
  if (executor === 'docker') refuseForContainer(entry, environment)
  const { name, version, dir, commit, manifest } = entry
  return {
    schema: 'resolve.journal/1',
    instance_id: request.instance_id ?? newInstanceId(),
    name: request.name ?? null,
    parent_id: request.parent_id ?? null,
    ...(request.schedule === undefined ? {} : { schedule: request.schedule }),
    created_at: new Date().toISOString(),
    input,
    executor,
    environment,
    ...(executor === 'docker' ? { container: containerOptions(manifest, spec) } : {}),
    resolver: { name, version, dir, commit, manifest },
  }
}

function refuseWhatIsMissing(entry: CatalogEntry, spec: Record<string, unknown> | null): void {
  const resolver = entry.name
  const needsSidecar = (entry.manifest.capabilities_required ?? []).length > 0 || spec?.['git_server'] === true
  if (needsSidecar) throw fail('feature_missing', { resolver, feature: 'a git server beside its worker' })
  if (Array.isArray(spec?.['repos']) && spec['repos'].length > 0) {
    throw fail('feature_missing', { resolver, feature: 'repositories cloned into its workspace' })
  }
}
