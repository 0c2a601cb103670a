/**
 * Completes the config of a worker with the secrets that take time to read: the output of the operator's commands (R55).
 * {@link file://./../lifecycle/instance-host.ts} calls it before a launch.
 */
import { fail } from '../../errors.ts'
import { COORDINATION_FILE_MAX_BYTES } from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import { CONFIG_FILE } from '../../protocol/coordination.ts'
import type { InstanceConfig } from '../../protocol/instance.ts'
import type { CreationRecord } from '../../protocol/journal.ts'
import { runSecretCommand } from '../../secrets/run-secret-command.ts'
import { readSecrets } from '../../secrets/secret-store.ts'
import type { CoordinationDirectory } from '../../worker/worker.ts'

interface Completion {
  home: string
  creation: CreationRecord
  coordination: CoordinationDirectory
  config: InstanceConfig
  signal: AbortSignal
}

/**
 * The config with every secret in it. A worker that is adopted keeps those that an earlier host gave it. Throws `secret_missing`,
 * `secret_unavailable`, `secret_unreadable`, `secrets_broken`, `secret_key_unusable`.
 */
export async function completeConfig({
  home,
  creation,
  coordination,
  config,
  signal,
}: Completion): Promise<InstanceConfig> {
  const { name, manifest } = creation.resolver
  const given = credentialsOn(coordination)
  const names = manifest.secrets ?? []
  const isGiven = names.every((one) => typeof given[one] === 'string' && given[one] !== '')
  const secrets = isGiven ? pick(given, names) : await readSecrets(home, name, names, signal)
  const token = config.git_provider.token || (await gitToken(given['git_host_token'], signal))
  return {
    ...config,
    git_provider: { ...config.git_provider, token },
    credentials: { ...config.credentials, ...secrets, git_host_token: token },
  }
}

/** `RESOLVE_GIT_TOKEN_COMMAND` prints a token where RESOLVE_GIT_HOST_TOKEN has none. */
async function gitToken(given: unknown, signal: AbortSignal): Promise<string> {
  const command = process.env['RESOLVE_GIT_TOKEN_COMMAND']
  if (!command) return ''
  if (typeof given === 'string' && given !== '') return given
  const outcome = await runSecretCommand(command, signal)
  if ('value' in outcome) return outcome.value
  throw fail('secret_unavailable', { name: 'of RESOLVE_GIT_TOKEN_COMMAND', reason: outcome.reason })
}

/** The resolver can write to this file; what it writes there only it gets. Empty after a run, when the file is scrubbed. */
function credentialsOn(coordination: CoordinationDirectory): Record<string, unknown> {
  try {
    const bytes = coordination.read(CONFIG_FILE, COORDINATION_FILE_MAX_BYTES)
    const config: unknown = bytes === undefined ? undefined : JSON.parse(bytes.toString('utf8'))
    return isObject(config) && isObject(config['credentials']) ? config['credentials'] : {}
  } catch {
    return {}
  }
}

function pick(given: Record<string, unknown>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, String(given[name])]))
}
