/** GitLab's double. */
import {
  type Asked,
  addPull,
  type Behaviour,
  type Dialect,
  FORGE_TOKEN,
  type KeptPull,
  pageOf,
  type Reply,
  sameOpen,
} from './double.ts'

const PROJECT = 'group/sub/repo'
const MERGES = `/api/v4/projects/${encodeURIComponent(PROJECT)}/merge_requests`

export const gitlabDialect: Dialect = (asked, state) => {
  const { path, method, headers } = asked
  if (!path.startsWith('/api/v4/')) return undefined
  const token = headers['private-token'] ?? headers.authorization?.replace(/^Bearer /, '')
  if (token !== FORGE_TOKEN) return { status: 401, body: { message: '401 Unauthorized' } }
  if (path === '/api/v4/version') return { status: 200, body: { version: '18.0.0', revision: 'abc' } }
  if (path === '/api/v4/user')
    return { status: 200, body: { id: 1, username: 'lab-bot', name: 'Bot', state: 'active' } }
  if (path === MERGES) return method === 'GET' ? list(asked, state) : create(asked, state)
  const number = path.startsWith(`${MERGES}/`) ? Number(path.slice(MERGES.length + 1)) : undefined
  const merge = state.pulls.find((one) => one.number === number)
  if (merge === undefined) return { status: 404, body: { message: '404 Project Not Found' } }
  if (method === 'PUT') {
    const { title, description } = asked.body as { title?: string; description?: string }
    if (title !== undefined) Object.assign(merge, titleOf(title))
    if (description !== undefined) merge.body = description
  }
  return { status: 200, body: shown(merge, asked.base) }
}

function list({ query, base }: Asked, { pulls }: Behaviour): Reply {
  const found = pulls
    .filter(({ isOpen }) => isOpen || query.get('state') !== 'opened')
    .filter((one) => query.get('source_branch') === null || one.head === query.get('source_branch'))
    .filter((one) => query.get('target_branch') === null || one.target === query.get('target_branch'))
  const { page } = pageOf(found, query.get('page'), query.get('per_page'))
  return { status: 200, headers: { 'x-next-page': '', 'x-page': '1' }, body: page.map((one) => shown(one, base)) }
}

function create({ body, base }: Asked, state: Behaviour): Reply {
  const request = body as Record<string, string>
  const [head = '', target = '', title = ''] = [request['source_branch'], request['target_branch'], request['title']]
  if (head === '' || target === '' || title === '') return { status: 400, body: { error: 'title is missing' } }
  const same = sameOpen(state, head, target)
  if (same !== undefined) {
    const message = [`Another open merge request already exists for this source branch: !${same.number}`]
    return { status: 409, body: { message } }
  }
  const merge = addPull(state, { head, target, ...titleOf(title), body: request['description'] ?? '' })
  return { status: 201, body: shown(merge, base) }
}

function titleOf(text: string): { title: string; isDraft: boolean } {
  const isDraft = /^Draft: /.test(text)
  return { title: text.replace(/^Draft: /, ''), isDraft }
}

function shown(merge: KeptPull, base: string) {
  return {
    id: 1000 + merge.number,
    iid: merge.number,
    project_id: 7,
    title: merge.isDraft ? `Draft: ${merge.title}` : merge.title,
    description: merge.body,
    state: merge.isOpen ? 'opened' : 'closed',
    source_branch: merge.head,
    target_branch: merge.target,
    source_project_id: merge.isFork ? 99 : 7,
    target_project_id: 7,
    draft: merge.isDraft,
    work_in_progress: merge.isDraft,
    web_url: `${base}/${PROJECT}/-/merge_requests/${merge.number}`,
  }
}
