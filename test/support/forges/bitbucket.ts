/** Doubles of Bitbucket Cloud and of Bitbucket Server. */
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

const CLOUD = '/2.0/repositories/space/repo/pullrequests'

export const bitbucketDialect: Dialect = (asked, state) => {
  const { path, method, headers } = asked
  if (!path.startsWith('/2.0/')) return undefined
  if (!isAllowed(headers.authorization))
    return cloudError(401, 'Token is invalid, expired, or not supported for this endpoint.')
  if (path === '/2.0/user') return { status: 200, body: { type: 'user', nickname: 'bucket-bot', display_name: 'Bot' } }
  if (path === CLOUD) return method === 'GET' ? cloudList(asked, state) : cloudCreate(asked, state)
  const pull = state.pulls.find((one) => path === `${CLOUD}/${one.number}`)
  if (pull === undefined) return cloudError(404, 'You may not have access to this repository or it no longer exists')
  if (method === 'PUT') {
    const {
      title,
      description,
      reviewers = [],
    } = asked.body as Record<string, string> & { reviewers?: { uuid: string }[] }
    Object.assign(pull, {
      title: title ?? pull.title,
      body: description ?? pull.body,
      reviewers: reviewers.map(({ uuid }) => uuid),
    })
  }
  return { status: 200, body: cloudShown(pull, asked.base) }
}

/** An access token, or an API token with its address. */
function isAllowed(authorization = ''): boolean {
  const [kind, value = ''] = authorization.split(' ')
  return kind === 'Basic' ? Buffer.from(value, 'base64').toString().endsWith(`:${FORGE_TOKEN}`) : value === FORGE_TOKEN
}

function cloudError(status: number, message: string): Reply {
  return { status, body: { type: 'error', error: { message } } }
}

/** The two conditions that promotion asks for, in Bitbucket's query language. */
function cloudList({ query, base }: Asked, { pulls }: Behaviour): Reply {
  const asked = (field: string) =>
    new RegExp(`${field}\\.branch\\.name ?= ?"((?:\\\\.|[^"])*)"`).exec(query.get('q') ?? '')?.[1]
  const [head, target] = [asked('source'), asked('destination')].map((text) => text?.replace(/\\(.)/g, '$1'))
  const found = pulls
    .filter(({ isOpen }) => isOpen)
    .filter((one) => (head === undefined || one.head === head) && (target === undefined || one.target === target))
  const { page, isLast } = pageOf(found, query.get('page'), query.get('pagelen'))
  return {
    status: 200,
    body: { values: page.map((one) => cloudShown(one, base)), ...(isLast ? {} : { next: `${base}${CLOUD}?page=2` }) },
  }
}

function cloudCreate({ body, base }: Asked, state: Behaviour): Reply {
  const { title, description, source, destination, draft } = body as {
    title: string
    description?: string
    source: { branch: { name: string } }
    destination: { branch: { name: string } }
    draft?: boolean
  }
  const [head, target] = [source.branch.name, destination.branch.name]
  // It updates the open one where there is one already.
  const pull = sameOpen(state, head, target) ?? addPull(state, { head, target })
  Object.assign(pull, { title, body: description ?? '', isDraft: draft === true })
  return { status: 201, body: cloudShown(pull, base) }
}

function cloudShown(pull: KeptPull, base: string) {
  const side = (name: string, full_name: string) => ({
    branch: { name },
    repository: { type: 'repository', full_name },
  })
  return {
    type: 'pullrequest',
    id: pull.number,
    title: pull.title,
    description: pull.body,
    draft: pull.isDraft,
    state: pull.isOpen ? 'OPEN' : 'DECLINED',
    source: side(pull.head, pull.isFork ? 'someone/repo' : 'space/repo'),
    destination: side(pull.target, 'space/repo'),
    reviewers: pull.reviewers.map((uuid) => ({ type: 'user', uuid })),
    links: { html: { href: `${base}/space/repo/pull-requests/${pull.number}` } },
  }
}

const SERVER = '/rest/api/1.0/projects/PROJ/repos/repo'

export const bitbucketServerDialect: Dialect = (asked, state) => {
  const { path, method, headers } = asked
  if (!path.startsWith('/rest/api/1.0/')) return undefined
  if (path.endsWith('/application-properties')) {
    return { status: 200, body: { version: '9.4.0', buildNumber: '9004000', displayName: 'Bitbucket' } }
  }
  if (headers.authorization !== `Bearer ${FORGE_TOKEN}`)
    return serverError(401, 'You are not permitted to access this resource', 'AuthorisationException')
  if (path === SERVER) return { status: 200, headers: { 'x-ausername': 'server-bot' }, body: { slug: 'repo', id: 1 } }
  const pulls = `${SERVER}/pull-requests`
  if (path === pulls) return method === 'GET' ? serverList(asked, state) : serverCreate(asked, state)
  const pull = state.pulls.find((one) => path === `${pulls}/${one.number}`)
  if (pull === undefined) return serverError(404, 'Repository PROJ/repo does not exist.', 'NoSuchRepositoryException')
  if (method === 'PUT') {
    const {
      version,
      title,
      description,
      reviewers = [],
    } = asked.body as Record<string, unknown> & { reviewers?: { user: { name: string } }[] }
    if (version !== pull.version)
      return serverError(
        409,
        'You are attempting to modify a pull request based on out-of-date information.',
        'PullRequestOutOfDateException',
      )
    Object.assign(pull, {
      title,
      body: description,
      version: pull.version + 1,
      reviewers: reviewers.map(({ user }) => user.name),
    })
  }
  return { status: 200, body: serverShown(pull, asked.base) }
}

function serverError(status: number, message: string, name: string, more = {}): Reply {
  return {
    status,
    body: { errors: [{ context: null, message, exceptionName: `com.atlassian.bitbucket.${name}`, ...more }] },
  }
}

function serverList({ query, base }: Asked, { pulls }: Behaviour): Reply {
  const at = query.get('at')?.replace('refs/heads/', '')
  const found = pulls.filter(({ isOpen }) => isOpen).filter((one) => at === undefined || one.head === at)
  const [start, limit] = [Number(query.get('start') ?? 0), Number(query.get('limit') ?? 25)]
  const values = found.slice(start, start + limit).map((one) => serverShown(one, base))
  return { status: 200, body: { size: values.length, limit, start, values, isLastPage: start + limit >= found.length } }
}

function serverCreate({ body, base }: Asked, state: Behaviour): Reply {
  const { title, description, fromRef, toRef } = body as Record<string, string> & {
    fromRef: { id: string }
    toRef: { id: string }
  }
  const [head, target] = [fromRef.id.replace('refs/heads/', ''), toRef.id.replace('refs/heads/', '')]
  const same = sameOpen(state, head, target)
  if (same !== undefined) {
    const message = 'Only one pull request may be open for a given source and target branch'
    return serverError(409, message, 'pull.DuplicatePullRequestException', {
      existingPullRequest: serverShown(same, base),
    })
  }
  if (state.empty.has(head)) {
    return serverError(
      409,
      `${target} is already up-to-date with branch ${head} in repository PROJ/repo`,
      'pull.EmptyPullRequestException',
    )
  }
  return {
    status: 201,
    body: serverShown(addPull(state, { head, target, title: title ?? '', body: description ?? '' }), base),
  }
}

function serverShown(pull: KeptPull, base: string) {
  return {
    id: pull.number,
    version: pull.version,
    title: pull.title,
    description: pull.body,
    state: pull.isOpen ? 'OPEN' : 'DECLINED',
    open: pull.isOpen,
    fromRef: { id: `refs/heads/${pull.head}`, repository: { id: pull.isFork ? 2 : 1 } },
    toRef: { id: `refs/heads/${pull.target}`, repository: { id: 1 } },
    reviewers: pull.reviewers.map((name) => ({ user: { name }, role: 'REVIEWER' })),
    links: { self: [{ href: `${base}/projects/PROJ/repos/repo/pull-requests/${pull.number}` }] },
  }
}
