/** The upstream repository of a promotion, asked from the bare repository that the host keeps of an instance. */
import { fail, type ResolveError } from '../errors.ts'
import type { ForgeRepo } from '../forge/forge.ts'
import { hideSecrets } from '../forge/words.ts'
import { type BareGit, COMMIT, type GitOutput } from '../git/bare-git.ts'
import { FETCH_QUIETLY } from '../git/fetch-arguments.ts'
import { type GitAccess, openGitAccess } from '../git/git-access.ts'
import type { GitHosts } from '../git/git-hosts.ts'
import { type Credential, gitUserOf } from '../git/git-providers.ts'
import { HEADS, UPSTREAM } from '../git/host-layout.ts'
import { whyGitFailed } from '../git/why-git-failed.ts'
import { cleanLine } from '../view/clean.ts'

/** The upstream repository, by git: with the token of its forge, and through the address check of every git command. */
export class UpstreamGit {
  readonly #git: BareGit
  readonly #repo: ForgeRepo
  readonly #access: GitAccess
  readonly #secret: string

  private constructor(git: BareGit, repo: ForgeRepo, access: GitAccess, secret: string) {
    this.#git = git
    this.#repo = repo
    this.#access = access
    this.#secret = secret
  }

  static async open(git: BareGit, repo: ForgeRepo, hosts: GitHosts, credential: Credential): Promise<UpstreamGit> {
    const access = await openGitAccess(repo.git, hosts)
    const credentials = {
      origin: new URL(repo.git).origin,
      username: gitUserOf(repo.forge, credential),
      password: credential.secret,
    }
    return new UpstreamGit(git, repo, { ...access, options: { ...access.options, credentials } }, credential.secret)
  }

  /** The default branch, and the commits of these branches. */
  async look(branches: readonly string[]): Promise<{ defaultBranch: string | null; tips: Map<string, string> }> {
    const patterns = ['HEAD', ...branches.map((branch) => `${HEADS}${branch}`)]
    const { stdout } = await this.#ask(['ls-remote', '--symref', '--', this.#repo.git, ...patterns])
    const tips = new Map<string, string>()
    let defaultBranch: string | null = null
    for (const line of stdout.split('\n')) {
      const [left = '', name = ''] = line.split('\t')
      if (name === 'HEAD' && left.startsWith(`ref: ${HEADS}`)) defaultBranch = left.slice(`ref: ${HEADS}`.length)
      else if (name.startsWith(HEADS) && COMMIT.test(left)) tips.set(name.slice(HEADS.length), left)
    }
    return { defaultBranch, tips }
  }

  /** Into `refs/upstream/<branch>`. */
  async fetch(branch: string): Promise<void> {
    const refspec = `+${HEADS}${branch}:${UPSTREAM}${branch}`
    await this.#ask([...FETCH_QUIETLY, '--', this.#repo.git, refspec])
  }

  /** Pushes one commit to one branch, if that branch is still at `expected` (null: not there). Never a plain force. */
  async push(commit: string, branch: string, expected: string | null): Promise<PushEnd> {
    const ref = `${HEADS}${branch}`
    const lease = `--force-with-lease=${ref}:${expected ?? ''}`
    const args = [
      'push',
      '--porcelain',
      '--no-verify',
      '--no-follow-tags',
      '--no-signed',
      '--recurse-submodules=no',
      lease,
    ]
    const { stdout, stderr } = await this.#ask([...args, '--', this.#repo.git, `${commit}:${ref}`], [1])
    const end = pushEnd(stdout, stderr)
    return end.kind === 'refused' ? { ...end, words: hideSecrets(end.words, [this.#secret]) } : end
  }

  async close(): Promise<void> {
    await this.#access.close()
  }

  async #ask(args: readonly string[], codes: readonly number[] = []): Promise<GitOutput> {
    try {
      return await this.#git.run(args, { codes, server: this.#access.options })
    } catch (error) {
      throw this.#explained(error)
    }
  }

  /** As the calls of the API tell it. */
  #explained(error: unknown): unknown {
    const { details, code } = error as Partial<ResolveError>
    if (code !== 'git_failed') return error
    const reason = hideSecrets(this.#access.denial() ?? String(details?.['reason'] ?? ''), [this.#secret])
    const { host, shown } = this.#repo
    const options = { cause: error }
    if (/authentication failed|could not read (?:username|password)|invalid credentials|error: 401/i.test(reason)) {
      return fail('forge_auth_failed', { host, words: reason }, options)
    }
    if (/error: 403|permission|write access/i.test(reason))
      return fail('forge_forbidden', { repo: shown, words: reason }, options)
    if (/not found|error: 404|does not exist/i.test(reason)) return fail('forge_not_found', { repo: shown }, options)
    return fail('forge_unreachable', { host, reason: reason.replace(/\.$/, '') }, options)
  }
}

export type PushEnd = { kind: 'pushed' } | { kind: 'moved' } | { kind: 'refused'; words: string }

/** Reads the porcelain line of the one reference, and what the server says about a refusal. Pure. */
export function pushEnd(stdout: string, stderr: string): PushEnd {
  const line = stdout.split('\n').find((one) => /^[ +*=!-]\t/.test(one)) ?? ''
  if (line !== '' && !line.startsWith('!')) return { kind: 'pushed' }
  const [, , summary = ''] = line.split('\t')
  if (/\[rejected\] \((?:stale info|fetch first|non-fast-forward|needs force)/.test(summary)) return { kind: 'moved' }
  const said = stderr
    .split(/[\r\n]+/)
    .filter((one) => one.startsWith('remote: '))
    .map((one) => cleanLine(one.slice('remote: '.length)))
    .filter((one) => /[\p{L}\d]/u.test(one))
  const why = cleanLine(summary.replace(/^\[[a-z ]+\] \(?|\)$/g, ''))
  const words = [...said, why]
    .filter((one) => one !== '')
    .join(' ')
    .slice(0, WORDS_MAX_CHARS)
  return { kind: 'refused', words: words === '' ? whyGitFailed(stderr) : /[.!?]$/.test(words) ? words : `${words}.` }
}

const WORDS_MAX_CHARS = 600
