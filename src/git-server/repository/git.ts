/** Runs git in a bare repository of the server; every answer of the REST API and every merge is made with it. */
import { spawn } from 'node:child_process'
import {
  GIT_ANSWER_MAX_BYTES,
  GIT_COMMAND_LIMIT_MS,
  GIT_PUSH_MAX_BYTES,
  GIT_SERVER_MEMORY_KIB,
} from '../../core/limits.ts'
import { Refusal } from './refusal.ts'

export interface GitOptions {
  input?: string
  environment?: Readonly<Record<string, string>>
  maxBytes?: number
  /** Exit codes that are answers, not failures; 0 always is one. */
  answers?: readonly number[]
}

export interface GitAnswer {
  code: number
  stdout: Buffer
}

/** Throws a {@link Refusal} 500 with git's last line where git fails, 422 where it prints too much. */
export async function git(directory: string, args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> {
  const { maxBytes = GIT_ANSWER_MAX_BYTES, answers = [] } = options
  const { promise, resolve, reject } = Promise.withResolvers<GitAnswer>()
  const [program = 'sh', ...words] = boundedCommand(['git', '--git-dir', directory, ...args])
  const child = spawn(program, words, {
    cwd: directory,
    env: { ...gitEnvironment(), ...options.environment },
    stdio: 'pipe',
    timeout: GIT_COMMAND_LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  const parts: Buffer[] = []
  let bytes = 0
  let said = ''
  child.stdout.on('data', (part: Buffer) => {
    bytes += part.length
    if (bytes <= maxBytes) parts.push(part)
    else child.kill('SIGKILL')
  })
  child.stderr.on('data', (part: Buffer) => {
    said = `${said}${part}`.slice(-4096)
  })
  // A command that ends early does not read its input; its exit code says why.
  child.stdin.on('error', () => {})
  child.stdin.end(options.input ?? '')
  child.on('error', reject)
  child.on('close', (code) => {
    if (bytes > maxBytes) reject(new Refusal(422, `the answer has more than ${maxBytes} bytes`))
    else if (code === 0 || (code !== null && answers.includes(code))) resolve({ code, stdout: Buffer.concat(parts) })
    else reject(new Refusal(500, `git ${args[0]}: ${lastLine(said) || `ended with ${code ?? 'a signal'}`}`))
  })
  return await promise
}

/** What git printed, without the line feed at its end. */
export async function gitText(directory: string, args: readonly string[], options: GitOptions = {}): Promise<string> {
  const { stdout } = await git(directory, args, options)
  return stdout.toString('utf8').replace(/\n$/, '')
}

/** The hooks of every repository; set once, at the start of the server. */
let hooks = '/dev/null'

export function setHooksPath(directory: string): void {
  hooks = directory
}

/** Nothing of the machine's or a user's configuration counts; these settings override those of a repository. */
export function gitEnvironment(): Record<string, string> {
  const settings = Object.entries({
    'safe.directory': '*',
    'core.hooksPath': hooks,
    // What a push was answered for is on the disk (R12).
    'core.fsync': 'committed,loose-object,reference',
    'core.logAllRefUpdates': 'false',
    'core.protectNTFS': 'true',
    'core.protectHFS': 'true',
    'gc.auto': '0',
    'maintenance.auto': 'false',
    'receive.autogc': 'false',
    'receive.maxInputSize': String(GIT_PUSH_MAX_BYTES),
    'receive.fsckObjects': 'true',
    'receive.advertisePushOptions': 'true',
    'transfer.hideRefs': 'refs/upstream',
    'uploadpack.allowFilter': 'true',
    'http.getanyfile': 'false',
    'http.receivepack': 'true',
    'pack.threads': '1',
    'protocol.version': '2',
    'diff.renames': 'true',
  })
  return {
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([name, value], at) => [
        [`GIT_CONFIG_KEY_${at}`, name],
        [`GIT_CONFIG_VALUE_${at}`, value],
      ]),
    ),
  }
}

/** A git program with a bound on its memory: it reads what a worker sends. */
export function boundedCommand(program: readonly string[]): string[] {
  return ['sh', '-c', `ulimit -v ${GIT_SERVER_MEMORY_KIB}; exec "$@"`, 'sh', ...program]
}

function lastLine(words: string): string {
  return (
    words
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^(?:fatal|error): /, '') ?? ''
  )
}
