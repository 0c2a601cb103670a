/**
 * Parses the options of a resolver's sandbox calls: only the fields named here are accepted, each within its limits (threats
 * B11). Pure.
 */
import { posix } from 'node:path'
import { fail } from '../../errors.ts'
import * as limits from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'

export type SandboxParams = Readonly<Record<string, unknown>>

export interface Creation {
  /** The caller's key of the sandbox. */
  key: string
  image: string | undefined
  environment: Record<string, string>
  network: 'none' | 'instance'
}

export interface Command {
  id: string
  command: string[]
  directory: string | undefined
  environment: Record<string, string>
  stdin: Buffer | undefined
  limitMs: number
}

const TEXT_MAX_CHARS = 128 * 1024
const COMMAND_MAX_WORDS = 256
const ENVIRONMENT_MAX_NAMES = 100

/** `{key, image?, environment?, network?}`. Throws `sandbox_refused`. */
export function parseCreation(params: SandboxParams): Creation {
  only(params, ['key', 'image', 'environment', 'network'])
  const { key, image, network = 'none' } = params
  if (typeof key !== 'string' || !/^[A-Za-z0-9_-]{8,64}$/.test(key)) {
    throw refuse('key', '8 to 64 letters, digits, "_" or "-" that identify the sandbox')
  }
  if (image !== undefined && typeof image !== 'string') throw refuse('image', 'the name of an image')
  if (network !== 'none' && network !== 'instance') throw refuse('network', '"none" or "instance"')
  return { key, image, environment: parseEnvironment(params), network }
}

/** `{container_id, command, cwd?, environment?, stdin?, timeout_seconds?}`. Throws `sandbox_refused`. */
export function parseCommand(params: SandboxParams): Command {
  only(params, ['container_id', 'command', 'cwd', 'environment', 'stdin', 'timeout_seconds'])
  const { command, cwd, stdin, timeout_seconds: seconds = limits.SANDBOX_COMMAND_LIMIT_MS / 1_000 } = params
  const isCommand = Array.isArray(command) && command.length > 0 && command.length <= COMMAND_MAX_WORDS
  if (!isCommand || !command.every(isText) || command[0] === '') {
    throw refuse('command', `a list of 1 to ${COMMAND_MAX_WORDS} texts: a program and its arguments`)
  }
  if (cwd !== undefined && !(isText(cwd) && cwd.startsWith('/'))) throw refuse('cwd', 'a path that begins with "/"')
  // Paths there lead to files of the engine that starts the command (threats B11).
  if (cwd !== undefined && /^\/+proc(\/|$)/.test(posix.normalize(cwd as string)))
    throw refuse('cwd', 'a path that is not below /proc')
  const longest = limits.SANDBOX_COMMAND_LONGEST_MS / 1_000
  if (typeof seconds !== 'number' || !(seconds > 0 && seconds <= longest)) {
    throw refuse('timeout_seconds', `a number up to ${longest}`)
  }
  return {
    id: parseId(params),
    command: command as string[],
    directory: cwd as string | undefined,
    environment: parseEnvironment(params),
    stdin: parseStdin(stdin),
    limitMs: seconds * 1_000,
  }
}

/** `{container_id}`, as platform.createSubContainer returned it. Throws `sandbox_refused`. */
export function parseId({ container_id: id }: SandboxParams): string {
  if (typeof id !== 'string' || !/^[0-9a-f]{12}$/.test(id))
    throw refuse('container_id', 'what platform.createSubContainer answered')
  return id
}

function parseStdin(stdin: unknown): Buffer | undefined {
  if (stdin === undefined) return undefined
  if (typeof stdin !== 'string') throw refuse('stdin', 'a text')
  const bytes = Buffer.from(stdin)
  if (bytes.length <= limits.SANDBOX_STDIN_MAX_BYTES) return bytes
  throw refuse('stdin', `at most ${limits.SANDBOX_STDIN_MAX_BYTES} bytes`)
}

function parseEnvironment({ environment = {} }: SandboxParams): Record<string, string> {
  const entries = isObject(environment) ? Object.entries(environment) : []
  const isValid = entries.every(([name, value]) => /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name) && isText(value))
  if (isObject(environment) && isValid && entries.length <= ENVIRONMENT_MAX_NAMES)
    return Object.fromEntries(entries) as Record<string, string>
  throw refuse('environment', `an object of at most ${ENVIRONMENT_MAX_NAMES} names and texts`)
}

/** A NUL would end the text early when it is passed to a process. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= TEXT_MAX_CHARS && !value.includes('\0')
}

/** An unknown field such as "privileged" or "binds" is refused, not ignored. */
function only(params: SandboxParams, known: readonly string[]): void {
  const unknown = Object.keys(params).find((name) => !['token', 'epoch', ...known].includes(name))
  if (unknown !== undefined)
    throw fail('sandbox_refused', { reason: `"${unknown.slice(0, 64)}" is not an option of this call` })
}

function refuse(name: string, rule: string) {
  return fail('sandbox_refused', { reason: `"${name}" must be ${rule}` })
}
