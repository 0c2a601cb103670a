/** An upstream that is a forge and a git host at once, and the bare repository of an instance that works on it: for tests of promotion. */
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ForgeName } from '../../src/core/git/git-providers.ts'
import type { PromotionPlace } from '../../src/core/promotion/promote.ts'
import type { PromotionRequest } from '../../src/core/promotion/promotion-rules.ts'
import { DOUBLES } from './forges/all.ts'
import { type DoubleHandler, doubleHandler, FORGE_TOKEN } from './forges/double.ts'
import { type GitUpstream, gitText, openUpstream } from './git-upstream.ts'

export interface PromotionWorld extends InstanceRepository {
  upstream: GitUpstream
  forge: DoubleHandler
  /** The name of the repository upstream. */
  name: string
  env: NodeJS.ProcessEnv
  close(): Promise<void>
}

/** What the host of an instance keeps of one repository. */
export interface InstanceRepository {
  place: PromotionPlace
  /** Adds a commit to the branch, as if the worker had pushed it; returns its id. */
  work(files: Readonly<Record<string, string | null>>, message?: string, branch?: string): string
  /** Runs git in the bare repository of the instance. */
  git(...args: string[]): string
  remove(): Promise<void>
}

const BRANCH = 'resolve/repo-abcdefgh'

export const REQUEST: PromotionRequest = {
  by: 'consumer',
  branch: null,
  target: null,
  title: 'Mend the gate',
  body: 'It was open.',
  draft: false,
  update: true,
  allowWorkflows: false,
  seen: null,
  rebase: false,
}

const API = ['/api/', '/2.0/', '/rest/']

export async function promotionWorld(provider: ForgeName = 'gitea'): Promise<PromotionWorld> {
  const { dialect, path } = DOUBLES[provider]
  const name = path.slice(1).replace(/\.git$/, '')
  const forge = doubleHandler(dialect, API)
  const intercept = forge.handle
  const upstream = await openUpstream({ token: FORGE_TOKEN, intercept })
  upstream.create(name, { 'README.md': 'one\ntwo\nthree\n', 'gate.txt': 'open\n' })
  const kept = instanceRepository(upstream.pathOf(name), upstream.urlOf(name))
  const env = {
    RESOLVE_GIT_PROVIDER: provider,
    RESOLVE_GIT_BASE_URL: upstream.base,
    RESOLVE_GIT_HOST_TOKEN: FORGE_TOKEN,
  }
  const close = async () => {
    await upstream.close()
    await kept.remove()
  }
  return { ...kept, upstream, forge, name, env, close }
}

/** `source`: where it is cloned from now; `url`: what the workspace names. */
export function instanceRepository(source: string, url: string): InstanceRepository {
  const directory = mkdtempSync(join(tmpdir(), 'promotion-'))
  const path = join(directory, 'repo.git')
  gitText(directory, ['clone', '--quiet', '--bare', source, path])
  const isThere = gitText(path, ['for-each-ref', `refs/heads/${BRANCH}`]) !== ''
  if (!isThere) gitText(path, ['update-ref', `refs/heads/${BRANCH}`, 'refs/heads/main'])
  const git = (...args: string[]) => gitText(path, args)
  const origin = { instance: 'abcdefgh1234', repo: 'repo', workingBranch: BRANCH }
  return {
    git,
    place: { ...origin, path, file: join(directory, 'promotions.json'), url },
    work(files, message = 'Work', branch = BRANCH) {
      const parent = git('rev-parse', `refs/heads/${branch}`)
      git('read-tree', parent)
      for (const [file, text] of Object.entries(files)) {
        if (text === null) {
          gitText(path, ['update-index', '--index-info'], `0 ${'0'.repeat(40)}\t${file}\n`)
          continue
        }
        const blob = gitText(path, ['hash-object', '-w', '--stdin'], text)
        git('update-index', '--add', '--cacheinfo', `100644,${blob},${file}`)
      }
      const commit = git('commit-tree', git('write-tree'), '-p', parent, '-m', message)
      git('update-ref', `refs/heads/${branch}`, commit)
      return commit
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}
