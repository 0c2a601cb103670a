/** The work of instances in their repositories, over HTTP: for {@link file://./remote.ts}. */
import type { GitWork } from '../platform.ts'
import type { RemoteHttp } from './remote-http.ts'

export function remoteGit(http: () => Promise<RemoteHttp>): GitWork {
  return {
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
