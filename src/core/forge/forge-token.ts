/**
 * Where the token of a forge comes from: RESOLVE_GIT_HOST_TOKEN, the command of RESOLVE_GIT_TOKEN_COMMAND, and for people at a terminal
 * their own `git credential`. A token of the environment is only for the host that the settings name.
 */
import { spawn } from 'node:child_process'
import { fail } from '../errors.ts'
import { type Credential, credentialOf } from '../git/git-providers.ts'
import { CREDENTIAL_LIMIT_MS, SECRET_VALUE_MAX_BYTES, TOKEN_COMMAND_KEPT_MS } from '../limits.ts'
import { runSecretCommand } from '../secrets/run-secret-command.ts'
import type { ForgeRepo } from './forge.ts'
import { type GitSettings, hostOfToken } from './git-settings.ts'

export interface CredentialSource {
  /** Whether `fresh` may give another one than before. */
  readonly canRefresh: boolean
  /** Throws `forge_auth_failed`. */
  read(options?: { fresh?: boolean }): Promise<Credential>
}

export interface CredentialOptions {
  settings: GitSettings
  /** Asks `git credential fill` with the configuration of the user. Never under `serve` or in a background host. */
  atTerminal?: boolean
  signal?: AbortSignal | undefined
}

/** Throws `forge_auth_failed` where there is no token for this host. */
export function credentialsFor(repo: ForgeRepo, options: CredentialOptions): CredentialSource {
  const { settings, atTerminal = false, signal } = options
  const { token, tokenCommand } = settings
  if (hostOfToken(settings) === repo.host) {
    if (token !== undefined) return fixed(credentialOf(repo.forge, token))
    if (tokenCommand !== undefined) return new CommandSource(repo, tokenCommand, signal)
  }
  if (atTerminal) return new TerminalSource(repo, signal)
  const other = token !== undefined || tokenCommand !== undefined
  throw fail('forge_auth_failed', {
    host: repo.host,
    words: other ? `The token is for ${hostOfToken(settings) ?? 'no host'}.` : 'There is no token for it.',
  })
}

function fixed(credential: Credential): CredentialSource {
  return { canRefresh: false, read: () => Promise.resolve(credential) }
}

/** Tokens of apps live an hour, instances twelve: the command runs again after a while, and when a token is refused. */
class CommandSource implements CredentialSource {
  readonly canRefresh = true
  readonly #repo: ForgeRepo
  readonly #command: string
  readonly #signal: AbortSignal | undefined
  #kept: { credential: Credential; at: number } | undefined

  constructor(repo: ForgeRepo, command: string, signal: AbortSignal | undefined) {
    this.#repo = repo
    this.#command = command
    this.#signal = signal
  }

  async read({ fresh = false } = {}): Promise<Credential> {
    const kept = this.#kept
    if (!fresh && kept !== undefined && Date.now() - kept.at < TOKEN_COMMAND_KEPT_MS) return kept.credential
    const outcome = await runSecretCommand(this.#command, this.#signal)
    if ('reason' in outcome) {
      throw fail('forge_auth_failed', {
        host: this.#repo.host,
        words: `RESOLVE_GIT_TOKEN_COMMAND gives no token: ${outcome.reason}.`,
      })
    }
    const credential = credentialOf(this.#repo.forge, outcome.value.trim())
    this.#kept = { credential, at: Date.now() }
    return credential
  }
}

class TerminalSource implements CredentialSource {
  readonly canRefresh = false
  readonly #repo: ForgeRepo
  readonly #signal: AbortSignal | undefined
  #credential: Promise<Credential> | undefined

  constructor(repo: ForgeRepo, signal: AbortSignal | undefined) {
    this.#repo = repo
    this.#signal = signal
  }

  read(): Promise<Credential> {
    this.#credential ??= this.#fill()
    return this.#credential
  }

  async #fill(): Promise<Credential> {
    const { protocol, host, pathname } = new URL(this.#repo.git)
    const question = `protocol=${protocol.slice(0, -1)}\nhost=${host}\npath=${pathname.slice(1)}\n\n`
    const answer = new Map((await credentialFill(question, this.#signal)).split('\n').map(pairOf))
    const secret = answer.get('password')
    if (secret === undefined || secret === '') {
      throw fail('forge_auth_failed', {
        host,
        words: 'Neither the environment nor "git credential" has a token for it.',
      })
    }
    return { user: answer.get('username') || undefined, secret }
  }
}

/** Every `=` after the first belongs to the value. */
function pairOf(line: string): [string, string] {
  const at = line.indexOf('=')
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)]
}

/**
 * Runs the git of the user with the configuration of the user; nothing is asked on the terminal. It runs in `/`, because the
 * configuration of a repository in the working directory could name another helper. Empty where it fails.
 */
function credentialFill(question: string, signal: AbortSignal | undefined): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn('git', ['credential', 'fill'], {
      cwd: '/',
      env: { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_ASKPASS: '', SSH_ASKPASS: '', GIT_DIR: undefined },
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: CREDENTIAL_LIMIT_MS,
      killSignal: 'SIGKILL',
      ...(signal === undefined ? {} : { signal }),
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
      if (output.length > SECRET_VALUE_MAX_BYTES) child.kill('SIGKILL')
    })
    child.on('error', () => resolve(''))
    child.on('close', (code) => resolve(code === 0 ? output : ''))
    child.stdin.on('error', () => {})
    child.stdin.end(question)
  })
}
