/**
 * Collects what a creation needs before the first line of the journal: a valid input and the plan for the worker (R10, R44). A resolver
 * that is not prepared cannot be asked yet: then the host checks the input after the setup (R48).
 */
import { admitInput, refuseWhatIsMissing } from '../../host/inquiry/admission.ts'
import type { Inquiries } from '../../host/inquiry/inquiries.ts'
import type { Preparations } from '../../host/inquiry/preparations.ts'
import { containerOptions } from '../../host/launch/container-launch.ts'
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { CreationRecord, Executor } from '../../protocol/journal.ts'
import { newInstanceId } from '../../store/home.ts'
import type { CreateRequest } from '../platform.ts'

export interface CreationParts {
  inquiries: Inquiries
  preparations: Preparations
}

/** The creation record of the instance. Throws as {@link admitInput}, and as {@link Preparations.isReady}. */
export async function prepareCreation(
  { inquiries, preparations }: CreationParts,
  entry: CatalogEntry,
  request: CreateRequest,
  executor: Executor,
): Promise<CreationRecord> {
  const { input } = request
  const { name, version, dir, commit, manifest } = entry
  refuseWhatIsMissing(manifest, null)
  const isReady = await preparations.isReady(entry, executor)
  const { environment, container } = isReady
    ? await inquiries.ask(entry, executor, (inquiry) => admitInput(inquiry, entry, input, executor))
    : { environment: {}, container: containerOptions(manifest, null) }
  return {
    schema: 'resolve.journal/1',
    instance_id: request.instance_id ?? newInstanceId(),
    name: request.name ?? null,
    parent_id: request.parent_id ?? null,
    created_at: new Date().toISOString(),
    input,
    executor,
    environment,
    ...(container === null ? {} : { container }),
    ...(isReady ? {} : { unchecked: true }),
    resolver: { name, version, dir, commit, manifest },
  }
}
