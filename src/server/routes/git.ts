/** The work of an instance in its repositories: for {@link file://./../app.ts} (docs/git.md, Seeing the work). */
import { Readable } from 'node:stream'
import { fail } from '../../core/errors.ts'
import type { Handlers } from '../request/operations.ts'
import { type AppParts, actorOf } from '../request/parts.ts'

export function gitHandlers({ platform }: AppParts) {
  return {
    postInstancePromote: async ({ params: { id, repo }, body, request }) =>
      platform.git.promote(id, repo, body ?? {}, actorOf(request)),

    getInstanceRepos: async ({ params }) => platform.git.repos(params.id),

    getInstanceRepoDiff: async ({ params, query: { snapshot, ...query } }) =>
      platform.git.diff(params.id, params.repo, {
        ...query,
        ...(snapshot === undefined ? {} : { snapshot: snapshotOf(snapshot) }),
      }),

    getInstanceRepoCommits: async ({ params }) => platform.git.commits(params.id, params.repo),

    getInstanceRepoPulls: async ({ params }) => platform.git.pulls(params.id, params.repo),

    getInstanceRepoBundle: async ({ params, query, reply }) => {
      const { bytes, stream } = await platform.git.bundle(params.id, params.repo, query)
      if (bytes !== undefined) reply.header('content-length', bytes)
      reply.header('content-disposition', `attachment; filename="${params.repo}.bundle"`)
      return reply.type('application/x-git-bundle').send(Readable.from(stream))
    },
  } satisfies Partial<Handlers>
}

function snapshotOf(text: string): number | 'last' | 'pushed' {
  if (text === 'last' || text === 'pushed') return text
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw fail('request_invalid', { problem: 'snapshot is a number, "last" or "pushed"' })
  return Number(text)
}
