/** REST: trees, blobs and files. */
import type { ContentsResponse, GitBlobResponse, GitTreeResponse } from 'gitea-js'
import { GIT_BLOB_MAX_BYTES } from '../../core/limits.ts'
import { OWNER } from '../pulls/service.ts'
import { git, gitText } from '../repository/git.ts'
import { isObjectId } from '../repository/names.ts'
import { Refusal } from '../repository/refusal.ts'
import type { Repository } from '../repository/repositories.ts'
import { commitOf } from './branch-routes.ts'
import { type Call, type Handler, json, repositoryOf, text } from './call.ts'

const TREE_MAX_ENTRIES = 1_000

interface Entry {
  mode: string
  type: string
  sha: string
  size: number
  path: string
}

export const contentRoutes: Readonly<Record<string, Handler>> = {
  'GET /repos/:owner/:repo/git/trees/*sha': async (call) => {
    const repository = repositoryOf(call)
    const sha = call.part('sha')
    const start = isObjectId(sha) ? sha : await commitOf(repository, sha)
    const isWhole = ['1', 'true'].includes(call.query.get('recursive') ?? '')
    const entries = await listTree(repository, [...(isWhole ? ['-r', '-t'] : []), start])
    const page = Math.max(1, Math.trunc(Number(call.query.get('page') ?? 1)) || 1)
    const shown = entries.slice((page - 1) * TREE_MAX_ENTRIES, page * TREE_MAX_ENTRIES)
    const api = `${call.service.baseUrl}/api/v1/repos/${OWNER}/${repository.name}/git`
    const answer = {
      sha: start,
      url: `${api}/trees/${start}`,
      tree: shown.map((entry) => ({ ...entry, url: `${api}/${entry.type}s/${entry.sha}` })),
      truncated: page * TREE_MAX_ENTRIES < entries.length,
      page,
      total_count: entries.length,
    } satisfies GitTreeResponse
    return json(answer)
  },
  'GET /repos/:owner/:repo/git/blobs/:sha': async (call) => {
    const repository = repositoryOf(call)
    const content = await readBlob(repository, call.part('sha'))
    const answer = {
      content: content.toString('base64'),
      encoding: 'base64',
      url: `${call.service.baseUrl}/api/v1/repos/${OWNER}/${repository.name}/git/blobs/${call.part('sha')}`,
      sha: call.part('sha'),
      size: content.length,
    } satisfies GitBlobResponse
    return json(answer)
  },
  'GET /repos/:owner/:repo/contents': (call) => contentsAt(call, ''),
  'GET /repos/:owner/:repo/contents/*path': (call) => contentsAt(call, call.part('path')),
  'GET /repos/:owner/:repo/raw/*path': async (call) => {
    const { repository, entry } = await entryAt(call, call.part('path'))
    if (entry.type !== 'blob') throw new Refusal(404, 'there is no such file')
    return text(await readBlob(repository, entry.sha), 'application/octet-stream')
  },
}

async function contentsAt(call: Call, path: string) {
  if (path.replaceAll('/', '') === '') {
    const repository = repositoryOf(call)
    const commit = await commitOf(repository, refOf(call))
    return json((await listTree(repository, [commit])).map((one) => toContents(call, repository, commit, one)))
  }
  const { repository, commit, entry } = await entryAt(call, path)
  if (entry.type === 'tree') {
    const inside = await listTree(repository, [entry.sha])
    return json(
      inside.map((one) => toContents(call, repository, commit, { ...one, path: `${entry.path}/${one.path}` })),
    )
  }
  const file = toContents(call, repository, commit, entry)
  const last = await gitText(repository.directory, ['log', '-1', '--format=%H', commit, '--', entry.path])
  if (entry.type !== 'blob') return json({ ...file, last_commit_sha: last })
  const content = await readBlob(repository, entry.sha)
  const link = file.type === 'symlink' ? { target: content.toString('utf8') } : {}
  return json({ ...file, last_commit_sha: last, encoding: 'base64', content: content.toString('base64'), ...link })
}

function refOf({ query }: Call): string | undefined {
  return (query.get('ref') || undefined)?.replace(/^refs\/(?:heads|tags)\//, '')
}

async function entryAt(call: Call, path: string) {
  const repository = repositoryOf(call)
  const commit = await commitOf(repository, refOf(call))
  const clean = path.split('/').filter(Boolean).join('/')
  const [entry] = /(?:^|\/)\.\.?(?:\/|$)|\0/.test(clean) ? [] : await listTree(repository, [commit, '--', clean])
  if (entry === undefined) throw new Refusal(404, 'there is no such file')
  return { repository, commit, entry }
}

function toContents({ service }: Call, repository: Repository, commit: string, entry: Entry): ContentsResponse {
  const path = entry.path.split('/').map(encodeURIComponent).join('/')
  const api = `${service.baseUrl}/api/v1/repos/${OWNER}/${repository.name}`
  const url = `${api}/contents/${path}?ref=${commit}`
  const html = `${service.baseUrl}/${OWNER}/${repository.name}/src/commit/${commit}/${path}`
  const git_url = `${api}/git/${entry.type}s/${entry.sha}`
  return {
    name: entry.path.slice(entry.path.lastIndexOf('/') + 1),
    path: entry.path,
    sha: entry.sha,
    type: typeOf(entry),
    size: entry.size,
    url,
    html_url: html,
    git_url,
    download_url: `${api}/raw/${path}?ref=${commit}`,
    _links: { self: url, git: git_url, html },
  }
}

function typeOf({ type, mode }: Entry): string {
  if (type === 'tree') return 'dir'
  if (type === 'commit') return 'submodule'
  return mode === '120000' ? 'symlink' : 'file'
}

async function listTree({ directory }: Repository, args: readonly string[]): Promise<Entry[]> {
  const { code, stdout } = await git(directory, ['ls-tree', '-z', '-l', '--full-tree', ...args], { answers: [128] })
  if (code !== 0) throw new Refusal(404, 'there is no such tree')
  return stdout
    .toString('utf8')
    .split('\0')
    .flatMap((line) => {
      const [, mode = '', type = '', sha = '', size = '', path = ''] =
        /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t([\s\S]*)$/.exec(line) ?? []
      return path === '' ? [] : [{ mode, type, sha, size: Number(size) || 0, path }]
    })
}

async function readBlob({ directory }: Repository, sha: string): Promise<Buffer> {
  if (!isObjectId(sha)) throw new Refusal(404, 'there is no such blob')
  const { code, stdout } = await git(directory, ['cat-file', 'blob', sha], {
    answers: [128],
    maxBytes: GIT_BLOB_MAX_BYTES,
  })
  if (code !== 0) throw new Refusal(404, 'there is no such blob')
  return stdout
}
