/** REST: the server itself, its user and its repositories. */

import { GIT_PAGE_MAX_ROWS, GIT_PAGE_ROWS } from '../../core/limits.ts'
import { OWNER } from '../pulls/service.ts'
import { Refusal } from '../repository/refusal.ts'
import type { Call, Handler } from './call.ts'
import { json, listHeaders, pageOf, repositoryOf, rowsOn } from './call.ts'
import { toRepository, toUser } from './shapes.ts'

/** Clients read the version to know what they may ask. With "gitea" in it Renovate takes the server for Forgejo. */
export const VERSION = '1.24.0'

export const repositoryRoutes: Readonly<Record<string, Handler>> = {
  'GET /version': () => json({ version: VERSION }),
  'GET /settings/api': () =>
    json({
      max_response_items: GIT_PAGE_MAX_ROWS,
      default_paging_num: GIT_PAGE_ROWS,
      default_git_trees_per_page: 1000,
      default_max_blob_size: 10485760,
    }),
  'GET /user': ({ service }) => json(toUser(service)),
  'GET /users/:user': ({ service, part }) => {
    if (part('user') !== OWNER) throw new Refusal(404, 'there is no such user')
    return json(toUser(service))
  },
  'GET /orgs/:org': () => {
    throw new Refusal(404, 'there are no organizations')
  },
  'GET /orgs/:org/labels': () => {
    throw new Refusal(404, 'there are no organizations')
  },
  'GET /repos/search': async (call) => {
    const { rows, headers } = await listRepositories(call)
    return json({ ok: true, data: rows }, 200, headers)
  },
  'GET /user/repos': async (call) => {
    const { rows, headers } = await listRepositories(call)
    return json(rows, 200, headers)
  },
  'GET /users/:user/repos': async (call) => {
    const { rows, headers } = await listRepositories(call)
    return json(rows, 200, headers)
  },
  'GET /repos/:owner/:repo': async (call) => json(await toRepository(call.service, repositoryOf(call))),
  'POST /repos/migrate': platformDoesThis,
  'POST /user/repos': platformDoesThis,
  'POST /users/:user/tokens': platformDoesThis,
  'GET /admin/*rest': platformDoesThis,
  'POST /admin/*rest': platformDoesThis,
}

function platformDoesThis(): never {
  throw new Refusal(403, 'the platform makes the repositories and the token of this server')
}

async function listRepositories(call: Call) {
  const wanted = (call.query.get('q') ?? '').toLowerCase()
  const all = call.service.repositories.all().filter(({ name }) => `${OWNER}/${name}`.toLowerCase().includes(wanted))
  const page = rowsOn(pageOf(call), all)
  const rows = await Promise.all(page.map((one) => toRepository(call.service, one)))
  return { rows, headers: listHeaders(call, all.length) }
}
