/** What tests of git begin with: a home and a git host, made before each test of the file and removed after it; and what resolvers of them say. */
import { rmSync } from 'node:fs'
import { afterEach, beforeEach, vi } from 'vitest'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import { type Home, newHome } from '../commands/cli.ts'
import { type GitUpstream, openUpstream, type UpstreamOptions } from './git-upstream.ts'
import { temporaryHome } from './instances.ts'
import { platformOn } from './platforms.ts'

export interface GitPlatform {
  home: string
  platform: LocalPlatform
  upstream: GitUpstream
}

/** The token of the upstream is the operator's; `env` is set besides RESOLVE_GIT_BASE_URL. */
export type GitSetting = UpstreamOptions & { env?: Readonly<Record<string, string>> }

/** A platform in the process of the test. `reopen`: another one on the same home, after the test has closed it. */
export function eachWithGitPlatform(
  use: (made: GitPlatform) => void | Promise<void>,
  setting: () => GitSetting = () => ({}),
): { reopen: () => Promise<LocalPlatform> } {
  let made: GitPlatform

  beforeEach(async () => {
    const { env = {}, ...options } = setting()
    const home = temporaryHome()
    const upstream = await openUpstream(options)
    vi.stubEnv('RESOLVE_GIT_BASE_URL', upstream.base)
    if (options.token !== undefined) vi.stubEnv('RESOLVE_GIT_HOST_TOKEN', options.token)
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    made = { home, upstream, platform: await platformOn(home) }
    await use(made)
  })

  afterEach(async () => {
    await made.platform.close()
    await made.upstream.close()
    vi.unstubAllEnvs()
    rmSync(made.home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  })

  return {
    reopen: async () => {
      made.platform = await platformOn(made.home)
      return made.platform
    },
  }
}

export interface GitHome {
  cli: Home
  upstream: GitUpstream
}

/** A home for the command line. `onEnd` is called when its hosts have ended. */
export function eachWithGitHome(
  use: (made: GitHome) => void,
  setting: () => UpstreamOptions = () => ({}),
  onEnd: (home: string) => Promise<void> = async () => {},
): void {
  let made: GitHome

  beforeEach(async () => {
    made = { cli: newHome(), upstream: await openUpstream(setting()) }
    use(made)
  })

  afterEach(async () => {
    await made.cli.end()
    await onEnd(made.cli.home)
    await made.upstream.close()
  })
}

/** The setup of a plain resolver that asks for these repositories. */
export function asksFor(urls: readonly string[], more: Readonly<Record<string, unknown>> = {}): string {
  const spec = { repos: urls.map((url) => ({ url })), ...more }
  return `me.on['resolver.getWorkspaceSpec'] = () => (${JSON.stringify(spec)})`
}

/** For the behaviour of a plain resolver: its first clone, the working branch, and a shell there. */
export const IN_CLONE = `const { execFileSync } = await import('node:child_process')
  const [{ path: clone, working_branch: branch }] = me.config.workspace
  const sh = (line) => execFileSync('/bin/sh', ['-ec', line], { cwd: clone, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
`
