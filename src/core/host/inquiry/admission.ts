/**
 * Accepts an input for a new instance: its checks, and what the resolver wants for it (R10, R44). The platform asks before it creates
 * the instance where the resolver is prepared; else the host asks after the setup (R48).
 */
import type { SplitPayload } from '../../forms/secret-fields.ts'
import { gitHosts } from '../../git/git-hosts.ts'
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { Payload } from '../../protocol/form.ts'
import type { ContainerOptions, CreationRecord, Executor } from '../../protocol/journal.ts'
import type { WorkspacePlan } from '../../protocol/workspace.ts'
import { openInquiryContainer } from '../../worker/docker/inquiry-container.ts'
import { planWorkspace } from '../../workspace/workspace-spec.ts'
import { availableCredentials } from '../launch/config.ts'
import {
  bundlesOf,
  containerLaunch,
  containerOptions,
  environmentOf,
  refuseForContainer,
} from '../launch/container-launch.ts'
import { Inquiry } from './inquiry.ts'

/** What an accepted input fixes for its instance. */
export interface Admission extends SplitPayload {
  environment: Record<string, string>
  /** null without a container. */
  container: ContainerOptions | null
  /** Of a worker without a container. */
  bundles?: string[]
  /** null where neither a repository nor a git server is wanted. */
  workspace: WorkspacePlan | null
}

/**
 * Throws `form_invalid`, `form_malformed`, `repo_refused`, `setup_malformed`, `environment_refused` and the errors of the
 * resolver's process.
 */
export async function admitInput(
  inquiry: Inquiry,
  resolver: Pick<CatalogEntry, 'name' | 'manifest'>,
  input: Payload,
  executor: Executor,
  instanceId: string,
): Promise<Admission> {
  const { name, manifest } = resolver
  const { spec, split } = await inquiry.admit(input, availableCredentials(manifest))
  const workspace = planWorkspace(spec, gitHosts(), instanceId)
  const environment = environmentOf(spec)
  if (executor !== 'docker')
    return { ...split, environment, container: null, bundles: bundlesOf(manifest, spec), workspace }
  refuseForContainer(name, environment)
  return { ...split, environment, container: containerOptions(manifest, spec), workspace }
}

/**
 * As {@link admitInput}, in a container that is opened for it; for the host of an instance whose setup is done. `onRefused` gets an input
 * whose checks fail.
 */
export async function admitAfterSetup(
  home: string,
  creation: CreationRecord,
  input: Payload,
  signal: AbortSignal,
  onRefused: (split: SplitPayload) => Promise<void>,
): Promise<Admission> {
  const { resolver, executor } = creation
  const options = containerOptions(resolver.manifest, null)
  const container = await openInquiryContainer(
    { home, directory: resolver.dir, command: options.command, launch: containerLaunch(options, resolver) },
    { signal },
  )
  const inquiry = new Inquiry(resolver, container)
  const end = () => void inquiry.close()
  signal.addEventListener('abort', end)
  try {
    signal.throwIfAborted()
    return await admitInput(inquiry, resolver, input, executor, creation.instance_id)
  } catch (error) {
    if (inquiry.split !== undefined && !signal.aborted) await onRefused(inquiry.split)
    throw error
  } finally {
    signal.removeEventListener('abort', end)
    await inquiry.close()
  }
}
