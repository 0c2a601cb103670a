/** Collects what a creation needs before the first line of the journal: a valid input, and the plan for the worker (R10, R44). */
import { fail } from '../../errors.ts'
import { splitSecrets } from '../../forms/secret-fields.ts'
import type { Inquiries } from '../../host/inquiry/inquiries.ts'
import { availableCredentials } from '../../host/launch/config.ts'
import { containerOptions, refuseForContainer } from '../../host/launch/container-launch.ts'
import { sealPayload } from '../../host/launch/sealed-payloads.ts'
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { CreationRecord, Executor } from '../../protocol/journal.ts'
import { requireSecrets } from '../../secrets/secret-store.ts'
import { newInstanceId } from '../../store/home.ts'
import type { CreateRequest } from '../platform.ts'
import { environmentOf } from './local-checks.ts'

export interface PreparedCreation {
  creation: CreationRecord
  /** The values of secret fields, which the creation record does not have. */
  sealedInput: string | undefined
}

/**
 * The creation record of the instance. Throws `secret_missing`, `form_invalid`, `form_malformed`, `feature_missing` and the errors of the
 * resolver's process.
 */
export async function prepareCreation(
  home: string,
  inquiries: Inquiries,
  entry: CatalogEntry,
  request: CreateRequest,
  executor: Executor,
): Promise<PreparedCreation> {
  requireSecrets(home, entry.name, entry.manifest.secrets)
  const credentials = availableCredentials(entry.manifest)
  const { spec, form } = await inquiries.ask(entry, executor, (inquiry) => inquiry.admit(request.input, credentials))
  refuseWhatIsMissing(entry, spec)
  const environment = environmentOf(spec)
  if (executor === 'docker') refuseForContainer(entry, environment)
  const { name, version, dir, commit, manifest } = entry
  const id = request.instance_id ?? newInstanceId()
  const { open: input, secret } = splitSecrets(form, request.input)
  const creation: CreationRecord = {
    schema: 'resolve.journal/1',
    instance_id: id,
    name: request.name ?? null,
    parent_id: request.parent_id ?? null,
    created_at: new Date().toISOString(),
    input,
    ...(secret === null ? {} : { secret_fields: Object.keys(secret) }),
    executor,
    environment,
    ...(executor === 'docker' ? { container: containerOptions(manifest, spec) } : {}),
    resolver: { name, version, dir, commit, manifest },
  }
  return { creation, sealedInput: secret === null ? undefined : sealPayload(home, id, secret) }
}

function refuseWhatIsMissing(entry: CatalogEntry, spec: Record<string, unknown> | null): void {
  const resolver = entry.name
  const needsSidecar = (entry.manifest.capabilities_required ?? []).length > 0 || spec?.['git_server'] === true
  if (needsSidecar) throw fail('feature_missing', { resolver, feature: 'a git server beside its worker' })
  if (Array.isArray(spec?.['repos']) && spec['repos'].length > 0) {
    throw fail('feature_missing', { resolver, feature: 'repositories cloned into its workspace' })
  }
}
