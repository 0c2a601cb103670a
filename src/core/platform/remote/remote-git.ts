/** What consumers do with the repositories of an instance, over HTTP. */
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
  }
}
