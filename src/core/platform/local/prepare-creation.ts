/**
 * Collects what a creation needs before the first line of the journal: a valid input and the plan for the worker (R10, R44). A resolver
 * that is not prepared cannot be asked yet: then the host checks the input after the setup (R48).
 */
import { fail } from '../../errors.ts'
import { textsIn } from '../../forms/secret-fields.ts'
import { type Admission, admitInput } from '../../host/inquiry/admission.ts'
import type { Inquiries } from '../../host/inquiry/inquiries.ts'
import type { Preparations } from '../../host/inquiry/preparations.ts'
import { budgetFrom } from '../../host/launch/budget.ts'
import { containerOptions } from '../../host/launch/container-launch.ts'
import { requireModel } from '../../host/launch/required-model.ts'
import { sealPayload } from '../../host/launch/sealed-payloads.ts'
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { Payload } from '../../protocol/form.ts'
import type { CreationRecord, Executor } from '../../protocol/journal.ts'
import { sealTexts } from '../../secrets/sealed-texts.ts'
import { requireSecrets } from '../../secrets/secret-store.ts'
import type { SealedCreation } from '../../store/create-instance.ts'
import { newInstanceId } from '../../store/home.ts'
import type { CreateRequest } from '../platform.ts'

export interface CreationParts {
  home: string
  inquiries: Inquiries
  preparations: Preparations
}

export interface PreparedCreation {
  creation: CreationRecord
  /** The values of secret fields, or an input that is not checked yet: the creation record does not have them. */
  sealed: SealedCreation | undefined
}

/** The creation record of the instance. Throws `secret_missing`, `model_missing`, `budget_too_high`, `schedule_secret`, as {@link admitInput}, and as {@link Preparations.isReady}. */
export async function prepareCreation(
  { home, inquiries, preparations }: CreationParts,
  entry: CatalogEntry,
  request: CreateRequest,
  executor: Executor,
): Promise<PreparedCreation> {
  const { input } = request
  const { name, version, dir, commit, manifest } = entry
  requireSecrets(home, name, manifest.secrets)
  const budget = budgetFrom(request)
  const isReady = await preparations.isReady(entry, executor)
  const id = request.instance_id ?? newInstanceId()
  const {
    open,
    secret,
    environment,
    container,
    bundles = [],
    workspace,
  } = isReady
    ? await inquiries.ask(entry, executor, (inquiry) => admitInput(inquiry, entry, input, executor, id))
    : unchecked(entry, input)
  requireModel(manifest, input)
  // The file of schedules has the value in clear: the runner removes that of a field which became secret since.
  const secretFields = isReady && request.schedule !== undefined ? Object.keys(secret ?? {}) : []
  const [field] = secretFields
  if (field !== undefined) throw fail('schedule_secret', { field, secret_fields: secretFields })
  const creation: CreationRecord = {
    schema: 'resolve.journal/1',
    instance_id: id,
    name: request.name ?? null,
    parent_id: request.parent_id ?? null,
    ...(request.labels === undefined || Object.keys(request.labels).length === 0 ? {} : { labels: request.labels }),
    ...budget,
    ...(request.schedule === undefined ? {} : { schedule: request.schedule }),
    created_at: new Date().toISOString(),
    input: open,
    ...(isReady ? withSecretFields(secret) : { unchecked: true }),
    executor,
    environment,
    ...(container === null ? {} : { container }),
    ...(bundles.length === 0 ? {} : { bundles }),
    ...(workspace === null ? {} : { workspace }),
    resolver: { name, version, dir, commit, manifest },
  }
  if (secret === null) return { creation, sealed: undefined }
  // Which texts of an unchecked input are secret is not known yet.
  const texts = sealTexts(home, id, isReady ? textsIn(secret) : [])
  return { creation, sealed: { input: sealPayload(home, id, secret), texts } }
}

/** Which fields are secret is not known yet, so all of them are kept like secrets. */
function unchecked({ manifest }: CatalogEntry, input: Payload): Admission {
  return { open: {}, secret: input, environment: {}, container: containerOptions(manifest, null), workspace: null }
}

function withSecretFields(secret: Payload | null): Pick<CreationRecord, 'secret_fields'> {
  return secret === null ? {} : { secret_fields: Object.keys(secret) }
}
