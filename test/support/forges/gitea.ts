/** Gitea's double, with a page limit of its own that is below what a client asks for. */
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

const PAGE_MAX = '10'
const PULLS = '/api/v1/repos/tea/repo/pulls'

export const giteaDialect: Dialect = (asked, state) => {
  const { path, method, headers } = asked
  if (!path.startsWith('/api/v1/')) return undefined
  if (path === '/api/v1/version') return { status: 200, body: { version: '1.24.0' } }
  if (headers.authorization?.replace(/^(?:token|Bearer) /, '') !== FORGE_TOKEN) return refusal(401, 'token is required')
  if (path === '/api/v1/user')
    return { status: 200, body: { id: 1, login: 'tea-bot', full_name: '', email: 'b@example.org' } }
  if (path === PULLS) return method === 'GET' ? list(asked, state) : create(asked, state)
  const pull = state.pulls.find((one) => path === `${PULLS}/${one.number}`)
  if (pull === undefined) return refusal(404, "The target couldn't be found.")
  if (method === 'PATCH') {
    const { title, body } = asked.body as { title?: string; body?: string }
    if (title !== undefined) Object.assign(pull, titleOf(title))
    if (body !== undefined) pull.body = body
  }
  return { status: method === 'PATCH' ? 201 : 200, body: shown(pull, asked.base) }
}

function refusal(status: number, message: string): Reply {
  return { status, body: { message, url: 'http://tea/api/swagger' } }
}

function list({ query, base }: Asked, { pulls }: Behaviour): Reply {
  const found = pulls.filter(({ isOpen }) => isOpen)
  const { page, isLast } = pageOf(found, query.get('page'), PAGE_MAX)
  const link = `<${base}${PULLS}?page=${Number(query.get('page') ?? 1) + 1}>; rel="next"`
  return { status: 200, headers: isLast ? {} : { link }, body: page.map((one) => shown(one, base)) }
}

function create({ body, base }: Asked, state: Behaviour): Reply {
  const { head = '', base: target = '', title = '', body: text = '' } = body as Record<string, string>
  if (sameOpen(state, head, target) !== undefined) {
    return refusal(
      409,
      'pull request already exists for these targets [id: 1, issue_id: 1, head_repo_id: 1, base_repo_id: 1]',
    )
  }
  if (head === target || state.empty.has(head))
    return refusal(422, 'Invalid PullRequest: There are no changes between the head and the base')
  return { status: 201, body: shown(addPull(state, { head, target, ...titleOf(title), body: text }), base) }
}

function titleOf(text: string): { title: string; isDraft: boolean } {
  return { title: text.replace(/^WIP: /, ''), isDraft: text.startsWith('WIP: ') }
}

function shown(pull: KeptPull, base: string) {
  return {
    id: 1000 + pull.number,
    number: pull.number,
    html_url: `${base}/tea/repo/pulls/${pull.number}`,
    title: pull.isDraft ? `WIP: ${pull.title}` : pull.title,
    body: pull.body,
    draft: pull.isDraft,
    state: pull.isOpen ? 'open' : 'closed',
    head: { label: pull.head, ref: pull.head, sha: 'a', repo_id: pull.isFork ? 2 : 1 },
    base: { label: pull.target, ref: pull.target, sha: 'b', repo_id: 1 },
  }
}
