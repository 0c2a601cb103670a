/** Writes `.resolve/config.json`, the only way in which secrets reach a worker, and scrubs it at the end (R43, R45). */

import { randomBytes } from 'node:crypto'
import { ResolveError } from '../../errors.ts'
import { COORDINATION_FILE_MAX_BYTES } from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import { CONFIG_FILE } from '../../protocol/coordination.ts'
import type { Payload } from '../../protocol/form.ts'
import type { BundleEntry, InstanceConfig } from '../../protocol/instance.ts'
import type { CreationRecord } from '../../protocol/journal.ts'
import type { Manifest } from '../../protocol/manifest.ts'
import { NO_USAGE, type SessionSpending, tokensOf } from '../../protocol/session/session.ts'
import type { ClonedRepo, WorkspaceRepo } from '../../protocol/workspace.ts'
import type { CoordinationDirectory } from '../../worker/worker.ts'

/** What a worker gets besides what is fixed at creation and what is in the host's environment (R55). */
export interface GivenSecrets {
  /** The secrets that the manifest names. */
  credentials: Readonly<Record<string, string>>
  /** The values of the secret fields of the input. */
  input: Payload
}

export function buildConfig(
  creation: CreationRecord,
  coordination: CoordinationDirectory,
  given: GivenSecrets,
  spending: SessionSpending | undefined = undefined,
  env: NodeJS.ProcessEnv = process.env,
): InstanceConfig {
  const { manifest } = creation.resolver
  const { budget_usd, budget_tokens } = creation
  const token = env['RESOLVE_GIT_HOST_TOKEN'] ?? ''
  return {
    instance_id: creation.instance_id,
    resolver_name: creation.resolver.name,
    params: { ...creation.input, ...given.input },
    secret_fields: creation.secret_fields ?? [],
    workspace_path: coordination.seen.workspace,
    workspace: [],
    working_directory: coordination.seen.workspace,
    project_path: coordination.seen.project,
    resolve_path: coordination.seen.resolve,
    git_provider: {
      type: env['RESOLVE_GIT_PROVIDER'] ?? '',
      base_url: env['RESOLVE_GIT_BASE_URL'] ?? '',
      token,
    },
    credentials: {
      ...given.credentials,
      llm_provider_api_key: env['RESOLVE_LLM_PROVIDER_API_KEY'] ?? '',
      git_host_token: token,
    },
    llm: { model: env['RESOLVE_LLM_MODEL'] ?? '', base_url: env['RESOLVE_LLM_BASE_URL'] ?? '' },
    ...(budget_usd === undefined ? {} : { budget_usd, spent_usd: spending?.cost_usd ?? 0 }),
    ...(budget_tokens === undefined ? {} : { budget_tokens, spent_tokens: tokensOf(spending?.usage ?? NO_USAGE) }),
    sub_container_token: tokenOn(coordination) ?? randomBytes(32).toString('hex'),
    capabilities: manifest.capabilities_required ?? [],
  }
}

/** The config with the repositories that were cloned. One repository is the directory that tools begin in. */
export function withWorkspace(
  config: InstanceConfig,
  repos: readonly ClonedRepo[] | undefined,
  { seen }: CoordinationDirectory,
): InstanceConfig {
  const workspace = (repos ?? []).map(
    ({ name, url, base, commit, working_branch }): WorkspaceRepo => ({
      repo: name,
      path: `${seen.workspace}/${name}`,
      url,
      base,
      commit,
      working_branch,
      remote: 'origin',
    }),
  )
  const [only, ...others] = workspace
  const directory = only !== undefined && others.length === 0 ? only.path : seen.workspace
  return { ...config, workspace, working_directory: directory }
}

/** The config with the bundles of the sessions. */
export function withBundles(config: InstanceConfig, bundles: BundleEntry[]): InstanceConfig {
  return bundles.length === 0 ? config : { ...config, bundles }
}

/** Whether the resolver has a git server beside its worker: by its manifest, or by its workspace_spec. */
export function wantsGitServer({ resolver, workspace }: CreationRecord): boolean {
  return (resolver.manifest.capabilities_required ?? []).includes(GIT_SERVER) || workspace?.git_server === true
}

const GIT_SERVER = 'git-server'

/** The config of a worker with a git server: it gets the token of that server, and none of the upstream. */
export function withGitServer(
  config: InstanceConfig,
  access: { baseUrl: string; token: string } | undefined,
): InstanceConfig {
  if (access === undefined) return config
  const { baseUrl, token } = access
  return {
    ...config,
    git_provider: { type: 'gitea', base_url: baseUrl, token },
    credentials: { ...config.credentials, git_host_token: '' },
    platform_url: baseUrl,
    capabilities: [...new Set([...config.capabilities, GIT_SERVER])],
  }
}

/**
 * The token that an earlier host gave the worker: an adopted worker keeps it. A resolver that writes another one gains nothing,
 * because the token only opens its own sandboxes.
 */
function tokenOn(coordination: CoordinationDirectory): string | undefined {
  const token = configOn(coordination)?.['sub_container_token']
  return typeof token === 'string' && /^[0-9a-f]{64}$/.test(token) ? token : undefined
}

/**
 * The bundles that the host which launched the worker wrote for it: the host that initializes it may be another one. A resolver that
 * writes others there only misleads its own sessions.
 */
export function bundlesOn(coordination: CoordinationDirectory): BundleEntry[] {
  const bundles = configOn(coordination)?.['bundles']
  return Array.isArray(bundles) ? (bundles as BundleEntry[]) : []
}

function configOn(coordination: CoordinationDirectory): Record<string, unknown> | undefined {
  try {
    const bytes = coordination.read(CONFIG_FILE, COORDINATION_FILE_MAX_BYTES)
    const config: unknown = bytes === undefined ? undefined : JSON.parse(bytes.toString('utf8'))
    return isObject(config) ? config : undefined
  } catch {
    return undefined
  }
}

/** The names of the credentials that an instance of this resolver gets, for workspace_spec (R44, R55). */
export function availableCredentials({ secrets = [] }: Manifest, env: NodeJS.ProcessEnv = process.env): string[] {
  const names = []
  if (env['RESOLVE_LLM_PROVIDER_API_KEY']) names.push('llm_provider_api_key')
  if (env['RESOLVE_GIT_HOST_TOKEN'] || env['RESOLVE_GIT_TOKEN_COMMAND']) names.push('git_host_token')
  return [...names, ...secrets]
}

/** Without a sync: after a power loss the worker that read it is gone, and the next launch writes it anew. */
export function writeConfig(coordination: CoordinationDirectory, config: InstanceConfig): void {
  put(coordination, config, false)
}

/** A secret of the user is gone from the disk when this returns (R43); the token of an instance opens nothing after its end. Throws `disk_full`. */
export function scrubConfig(coordination: CoordinationDirectory, config: InstanceConfig, openInput: Payload): void {
  const { llm } = config
  const scrubbed: InstanceConfig = {
    ...config,
    params: openInput,
    llm: { ...llm, base_url: withoutUser(llm.base_url) },
    git_provider: { ...config.git_provider, base_url: withoutUser(config.git_provider.base_url), token: '' },
    credentials: { llm_provider_api_key: '', git_host_token: '' },
    sub_container_token: '',
  }
  try {
    put(coordination, scrubbed, hasUserSecret(config, openInput))
  } catch (error) {
    if (error instanceof ResolveError && error.code === 'disk_full') throw error
    // Where it cannot be rewritten, the file is removed.
    coordination.remove(CONFIG_FILE)
  }
}

function put(coordination: CoordinationDirectory, config: InstanceConfig, durable: boolean): void {
  coordination.put(CONFIG_FILE, JSON.stringify(config, null, 2), { mode: 0o600, durable })
}

function hasUserSecret({ git_provider, llm, credentials, params }: InstanceConfig, openInput: Payload): boolean {
  const isInUrl = [git_provider.base_url, llm.base_url].some((url) => url !== withoutUser(url))
  const isInInput = Object.keys(params).length !== Object.keys(openInput).length
  return isInUrl || isInInput || [git_provider.token, ...Object.values(credentials)].some((value) => value !== '')
}

/** `https://user:password@host` without user and password. */
function withoutUser(url: string): string {
  if (!URL.canParse(url)) return url
  const parsed = new URL(url)
  if (parsed.password === '') return url
  parsed.username = ''
  parsed.password = ''
  return parsed.href
}
