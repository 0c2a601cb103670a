/** The double of Azure DevOps. It also answers how the official client asks where a resource lies. */
import {
  type Asked,
  addPull,
  type Behaviour,
  type Dialect,
  FORGE_TOKEN,
  type KeptPull,
  type Reply,
  sameOpen,
} from './double.ts'

const PULLS = '/org/project/_apis/git/repositories/repo/pullrequests'
/** The resources whose place the client looks up with OPTIONS. */
const LOCATIONS = [
  {
    id: '9946fd70-0d40-406e-b686-b4744cbbcc37',
    area: 'git',
    resourceName: 'pullRequests',
    routeTemplate: '{project}/_apis/{area}/repositories/{repositoryId}/{resource}/{pullRequestId}',
  },
  {
    id: 'e81700f7-3be2-46de-8624-2eb35882fcaa',
    area: 'Location',
    resourceName: 'ResourceAreas',
    routeTemplate: '_apis/{resource}/{areaId}',
  },
]

export const azureDialect: Dialect = (asked, state) => {
  const { method, headers } = asked
  const path = asked.path.toLowerCase()
  if (method === 'OPTIONS') return { status: 200, body: locations() }
  const [, encoded = ''] = headers.authorization?.split(' ') ?? []
  if (!Buffer.from(encoded, 'base64').toString().endsWith(`:${FORGE_TOKEN}`)) {
    // Not 401: a page to sign in.
    return { status: 203, headers: { 'content-type': 'text/html' }, body: '<html>Sign in</html>' }
  }
  if (path === '/org/_apis/connectiondata')
    return { status: 200, body: { authenticatedUser: { providerDisplayName: 'azure-bot' } } }
  if (path === '/org/_apis/resourceareas') return { status: 200, body: { count: 0, value: [] } }
  if (path === PULLS) return method === 'GET' ? list(asked, state) : create(asked, state)
  const pull = state.pulls.find((one) => path === `${PULLS}/${one.number}`)
  if (pull === undefined)
    return azureError(404, 'TF401019: The Git repository with name or identifier repo does not exist')
  if (method === 'PATCH') {
    const { title, description } = asked.body as { title?: string; description?: string }
    Object.assign(pull, { title: title ?? pull.title, body: description ?? pull.body })
  }
  return { status: 200, body: shown(pull, asked.base) }
}

function locations() {
  const value = LOCATIONS.map((one) => ({
    ...one,
    resourceVersion: 2,
    minVersion: '1.0',
    maxVersion: '7.2',
    releasedVersion: '7.1',
  }))
  return { count: value.length, value }
}

function azureError(status: number, message: string): Reply {
  return {
    status,
    body: { $id: '1', innerException: null, message, typeKey: 'GitException', errorCode: 0, eventId: 3000 },
  }
}

function list({ query, base }: Asked, { pulls }: Behaviour): Reply {
  const [head, target] = ['searchCriteria.sourceRefName', 'searchCriteria.targetRefName'].map((name) => query.get(name))
  const found = pulls
    .filter(({ isOpen }) => isOpen)
    .filter((one) => head === null || `refs/heads/${one.head}` === head)
    .filter((one) => target === null || `refs/heads/${one.target}` === target)
  const skip = Number(query.get('$skip') ?? 0)
  const value = found.slice(skip, skip + Number(query.get('$top') ?? 100)).map((one) => shown(one, base))
  return { status: 200, body: { value, count: value.length } }
}

function create({ body, base }: Asked, state: Behaviour): Reply {
  const {
    sourceRefName,
    targetRefName,
    title,
    description = '',
    isDraft = false,
  } = body as Record<string, string> & { isDraft?: boolean }
  const [head = '', target = ''] = [sourceRefName, targetRefName].map((name) => name?.replace('refs/heads/', ''))
  if (description.length > 4_000) return azureError(400, 'TF401020: The description is too long.')
  if (sameOpen(state, head, target) !== undefined) {
    return azureError(409, 'TF401179: An active pull request for the source and target branch already exists.')
  }
  return {
    status: 201,
    body: shown(addPull(state, { head, target, title: title ?? '', body: description, isDraft }), base),
  }
}

function shown(pull: KeptPull, base: string) {
  return {
    pullRequestId: pull.number,
    codeReviewId: pull.number,
    status: pull.isOpen ? 'active' : 'abandoned',
    title: pull.title,
    description: pull.body,
    sourceRefName: `refs/heads/${pull.head}`,
    targetRefName: `refs/heads/${pull.target}`,
    isDraft: pull.isDraft,
    repository: { id: 'r', name: 'repo', project: { id: 'p', name: 'project' } },
    ...(pull.isFork ? { forkSource: { name: 'refs/heads/x' } } : {}),
    url: `${base}${PULLS}/${pull.number}`,
  }
}
