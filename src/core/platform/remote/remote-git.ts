/** What consumers do with the repositories of an instance, over HTTP: for {@link file://./remote.ts}. */
import { PROMOTION_ANSWER_LIMIT_MS } from '../../limits.ts'
import type { InstanceGit } from '../platform.ts'
import type { RemoteHttp } from './remote-http.ts'

export function remoteGit(http: () => Promise<RemoteHttp>): InstanceGit {
  return {
    promote: async (id, repo, body, actor) =>
      await (await http()).json('postInstancePromote', {
        params: { id, repo },
        body,
        limitMs: PROMOTION_ANSWER_LIMIT_MS,
        ...(body.dry_run === true ? {} : { act: { actor } }),
      }),
    repos: async (id) => await (await http()).json('getInstanceRepos', { params: { id } }),
    diff: async (id, repo, { snapshot, ...rest } = {}) => {
      const query = { ...rest, ...(snapshot === undefined ? {} : { snapshot: String(snapshot) }) }
      return await (await http()).json('getInstanceRepoDiff', { params: { id, repo }, query })
    },
    commits: async (id, repo) => await (await http()).json('getInstanceRepoCommits', { params: { id, repo } }),
    pulls: async (id, repo) => await (await http()).json('getInstanceRepoPulls', { params: { id, repo } }),
    bundle: async (id, repo, { whole } = {}) => {
      const remote = await http()
      const query = whole === true ? { whole } : {}
      const answer = await remote.open('getInstanceRepoBundle', { params: { id, repo }, query })
      const bytes = Number(answer.headers['content-length'] ?? Number.NaN)
      return { bytes: Number.isSafeInteger(bytes) ? bytes : undefined, stream: remote.bytesOf(answer) }
    },
  }
}
