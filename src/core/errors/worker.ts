/** Workers, containers and sandboxes. */
import type { Entry } from './entry.ts'

export const workerErrors = {
  launch_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { command: string; reason: string }) => `Can't start "${d.command}": ${d.reason}.`,
    outside: () => "The resolver's program can't be started.",
    hint: () => 'Check that the program is installed and in PATH.',
  },
  feature_missing: {
    kind: 'environment',
    http: 501,
    exit: 10,
    message: (d: { resolver: string; feature: string }) =>
      `The resolver "${d.resolver}" needs ${d.feature}, which this version does not provide.`,
  },
  docker_unreachable: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { socket: string; reason: string }) => `Can't reach Docker at ${d.socket}: ${d.reason}.`,
    outside: () => "Can't reach the Docker engine.",
    hint: () => 'Start Docker, or add --executor local to run it as a process of this machine, without isolation.',
  },
  container_refused: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { what: string; reason: string }) => `Docker refused to ${d.what}: ${d.reason}.`,
    outside: (d: { what: string }) => `The Docker engine refused to ${d.what}.`,
  },
  image_missing: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { image: string; mend: string }) => `There is no image "${d.image}" on this machine.`,
    outside: (d: { image: string }) => `There is no image "${d.image}" on the server's machine.`,
    hint: (d: { mend: string }) => `Get it with "${d.mend}".`,
  },
  setup_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { step: number; total: number; command: string; exit_code: number | null; output: string }) =>
      `Setup step ${d.step} of ${d.total} ended with ${d.exit_code === null ? 'no exit code' : `exit code ${d.exit_code}`}: ${d.command}${d.output === '' ? '' : `\n${d.output}`}`,
    outside: (d: { step: number; total: number }) => `Setup step ${d.step} of ${d.total} failed.`,
  },
  setup_malformed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { resolver: string; field: string }) =>
      `The resolver "${d.resolver}" returned container_setup.${d.field}, which is not a valid list.`,
  },
  mount_refused: {
    kind: 'environment',
    http: 422,
    exit: 10,
    message: (d: { mount: string; reason: string }) => `The volume mount ${d.mount} is not allowed: ${d.reason}.`,
    outside: () => 'A volume mount of the resolver is not allowed.',
    hint: () => 'The operator of this machine allows host paths with RESOLVE_VOLUME_ALLOW=/path:/other=rw.',
  },
  environment_refused: {
    kind: 'environment',
    http: 422,
    exit: 10,
    message: (d: { resolver: string; name: string }) =>
      `The resolver "${d.resolver}" may not set ${d.name} in the environment of its container.`,
  },
  sandbox_refused: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { reason: string }) => `Can't use a sandbox: ${d.reason}.`,
    hint: () => 'docs/writing-a-resolver.md describes sandboxes.',
  },
  sandbox_lost: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { command: string }) =>
      `The host was replaced while "${d.command}" ran in a sandbox: its result is unknown.`,
  },
  check_invalid: {
    kind: 'user',
    http: 422,
    exit: 2,
    message: (d: { reason: string }) => `The reality check is not valid: ${d.reason}.`,
    hint: () => 'The fields are in docs/reality-check.md.',
  },
  check_unavailable: {
    kind: 'environment',
    http: 501,
    exit: 10,
    message: (d: { reason: string }) => `Can't run a reality check: ${d.reason}.`,
    hint: () => 'It needs a Docker engine with the image of "resolve worker build".',
  },
  check_cancelled: {
    kind: 'user',
    http: 409,
    exit: 3,
    message: (d: { session: string }) => `The reality check ${d.session} was cancelled.`,
  },
} as const satisfies Record<string, Entry>
