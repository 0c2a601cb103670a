import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ResolveError } from '../../src/core/errors.ts'
import type { ForgeRepo } from '../../src/core/forge/forge.ts'
import { type ForgeDoor, ForgeHttp } from '../../src/core/forge/forge-http.ts'
import { credentialsFor } from '../../src/core/forge/forge-token.ts'
import { FORGES } from '../../src/core/forge/forges.ts'
import { type GitSettings, gitSettings } from '../../src/core/forge/git-settings.ts'
import { openPull } from '../../src/core/forge/open-pull.ts'
import { findForge } from '../../src/core/forge/which-forge.ts'
import { FORGE_NAMES } from '../../src/core/git/git-providers.ts'
import { FORGE_ANSWER_MAX_BYTES } from '../../src/core/limits.ts'
import { DOUBLES } from '../support/forges/all.ts'
import { FORGE_TOKEN, type ForgeDouble, openDouble } from '../support/forges/double.ts'

const wanted = {
  head: 'fix/a"b',
  target: 'main',
  title: 'Mend the gate',
  body: 'It was open.\n\nNow it shuts.',
  isDraft: false,
}

let http: ForgeHttp
beforeEach(() => {
  http = new ForgeHttp({ waitLimitMs: 3_000, retryMs: [5, 5] })
})
afterEach(() => http.close())

async function opened(name: (typeof FORGE_NAMES)[number], token = FORGE_TOKEN) {
  const { dialect, path, account } = DOUBLES[name]
  const double = await openDouble(dialect)
  const settings = gitSettings({
    RESOLVE_GIT_PROVIDER: name,
    RESOLVE_GIT_BASE_URL: double.base,
    RESOLVE_GIT_HOST_TOKEN: token,
  })
  const repo = await findForge(`${double.base}${path}`, settings, http)
  const door: ForgeDoor = { repo, credentials: credentialsFor(repo, { settings }) }
  return { double, door, repo, settings, account }
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    ({ code }: ResolveError) => code,
  )

describe.each(FORGE_NAMES)('%s', (name) => {
  let double: ForgeDouble
  let door: ForgeDoor
  let repo: ForgeRepo
  let account: string
  beforeEach(async () => {
    ;({ double, door, repo, account } = await opened(name))
  })
  afterEach(async () => {
    await double.close()
    expect(double.misfits).toEqual([])
  })

  test('a token names its account', async () => {
    expect(await http.ask(door, FORGES[name].whoAmI(repo))).toBe(account)
  })

  test('the first promotion creates the pull request, the second updates its text', async () => {
    const first = await openPull(http, door, wanted)
    expect(first).toMatchObject({
      created: true,
      pull: { number: 1, title: wanted.title, body: wanted.body, isDraft: false },
    })
    expect(first.pull.url).toMatch(new RegExp(`^${double.base}/.*1$`))
    const second = await openPull(http, door, { ...wanted, title: 'Mend both gates' })
    expect(second).toMatchObject({ created: false, pull: { number: 1, title: 'Mend both gates' } })
    const third = await openPull(http, door, { ...wanted, title: 'Other' }, { update: false })
    expect(third).toMatchObject({ created: false, pull: { number: 1, title: 'Mend both gates' } })
    expect(double.pulls).toHaveLength(1)
  })

  test('a pull request of a fork, of another branch, of another target or a closed one is another', async () => {
    double.addPull({ head: wanted.head, isFork: true })
    double.addPull({ head: 'fix/other' })
    double.addPull({ head: wanted.head, target: 'stable' })
    double.addPull({ head: wanted.head, isOpen: false })
    expect(await openPull(http, door, wanted)).toMatchObject({ created: true, pull: { number: 5 } })
    expect(double.pulls[0]).toMatchObject({ title: 'Untitled' })
  })

  test('it is found behind many others', async () => {
    for (let count = 0; count < 7; count += 1) double.addPull({ head: `other-${count}` })
    for (let count = 0; count < 55; count += 1) double.addPull({ head: wanted.head, isFork: true })
    double.addPull({ head: wanted.head, reviewers: ['ada'] })
    expect(await openPull(http, door, wanted)).toMatchObject({ created: false, pull: { number: 63 } })
    // Reviewers that people chose stay.
    expect(double.pulls.at(-1)).toMatchObject({ title: wanted.title, reviewers: ['ada'] })
  })

  test('an answer to the creation that is lost ends at one pull request', async () => {
    double.faults.push({ method: 'POST', fault: 'cut-after' })
    expect(await openPull(http, door, wanted)).toMatchObject({ created: true, pull: { number: 1 } })
    expect(double.pulls).toHaveLength(1)
  })

  test('a forge that fails for a moment is asked again', async () => {
    double.faults.push({ method: 'GET', fault: 'cut' }, { method: 'GET', fault: { status: 502, body: '<html>' } })
    double.faults.push({ method: 'POST', fault: { status: 503, body: '' } })
    expect(await openPull(http, door, wanted)).toMatchObject({ pull: { number: 1 } })
  })

  test('a pull request that appears in between is found', async () => {
    double.faults.push({ method: 'GET', fault: emptyList(name) })
    double.addPull({ head: wanted.head })
    expect(await openPull(http, door, wanted)).toMatchObject({ pull: { number: 1, title: wanted.title } })
    expect(double.pulls).toHaveLength(1)
  })

  test('a refused token, missing rights and a missing repository are told apart', async () => {
    const other = await opened(name, 'another-token')
    expect(await codeOf(openPull(http, other.door, wanted))).toBe('forge_auth_failed')
    await other.double.close()
    double.faults.push({ method: 'GET', fault: { status: 403, body: { message: 'no' } } })
    expect(await codeOf(openPull(http, door, wanted))).toBe('forge_forbidden')
    double.faults.push({ method: 'GET', fault: { status: 404, body: {} } })
    expect(await codeOf(openPull(http, door, wanted))).toBe('forge_not_found')
  })
})

const DRAFTS = FORGE_NAMES.filter((one) => one !== 'bitbucket_server')
test.each(DRAFTS)(
  '%s: a draft stays one when its text is updated, and one that a person made ready stays ready',
  async (name) => {
    const { double, door } = await opened(name)
    const first = await openPull(http, door, { ...wanted, isDraft: true })
    expect(first.pull).toMatchObject({ isDraft: true, title: wanted.title })
    await openPull(http, door, { ...wanted, title: 'Later' })
    expect(double.pulls[0]).toMatchObject({ isDraft: true, title: 'Later' })
    Object.assign(double.pulls[0] ?? {}, { isDraft: false })
    await openPull(http, door, { ...wanted, isDraft: true })
    expect(double.pulls[0]).toMatchObject({ isDraft: false, title: wanted.title })
    await double.close()
    expect(double.misfits).toEqual([])
  },
)

test('GitHub without drafts gets a pull request that is ready', async () => {
  const { double, door } = await opened('github')
  double.noDrafts = true
  const { pull } = await openPull(http, door, { ...wanted, isDraft: true })
  expect(pull.isDraft).toBe(false)
  await double.close()
})

test.each(['github', 'gitea', 'bitbucket_server'] as const)(
  '%s: a branch without commits of its own is nothing to promote',
  async (name) => {
    const { double, door } = await opened(name)
    double.empty.add(wanted.head)
    expect(await codeOf(openPull(http, door, wanted))).toBe('nothing_to_promote')
    await double.close()
  },
)

test('GitHub that has not seen the pushed branch yet is asked again', async () => {
  const { double, door } = await opened('github')
  const errors = [{ resource: 'PullRequest', field: 'head', code: 'invalid' }]
  double.faults.push({ method: 'POST', fault: { status: 422, body: { message: 'Validation Failed', errors } } })
  expect(await openPull(http, door, wanted)).toMatchObject({ created: true, pull: { number: 1 } })
  await double.close()
})

test('Azure takes 4,000 characters of text', async () => {
  const { double, door } = await opened('azure')
  await openPull(http, door, { ...wanted, body: 'x'.repeat(9_000) })
  expect(double.pulls[0]?.body).toHaveLength(4_000)
  await double.close()
})

describe('a forge that misbehaves', () => {
  let double: ForgeDouble
  let door: ForgeDoor
  let settings: GitSettings
  beforeEach(async () => {
    ;({ double, door, settings } = await opened('github'))
  })
  afterEach(() => double.close())

  test('a busy one is waited for, as long as it asks', async () => {
    double.faults.push({ method: 'GET', fault: { status: 429, headers: { 'retry-after': '1' }, body: {} } })
    const limited = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Math.floor(Date.now() / 1000)) }
    double.faults.push({
      method: 'POST',
      fault: { status: 403, headers: limited, body: { message: 'API rate limit exceeded' } },
    })
    expect(await openPull(http, door, wanted)).toMatchObject({ created: true })
  })

  test('a busy one that asks for too long a wait is told at once', async () => {
    double.faults.push({ method: 'GET', fault: { status: 429, headers: { 'retry-after': '3600' }, body: {} } })
    const error = await openPull(http, door, wanted).catch((thrown: ResolveError) => thrown)
    expect(error).toMatchObject({ code: 'forge_busy', message: expect.stringContaining('3600 s') as string })
  })

  test('a redirect is not followed, and its host gets no token', async () => {
    const other = await openDouble(() => ({ status: 200, body: [] }))
    double.faults.push({
      method: 'GET',
      fault: { status: 301, headers: { location: `${other.base}/elsewhere?a=b` }, body: {} },
    })
    const error = await openPull(http, door, wanted).catch((thrown: ResolveError) => thrown)
    expect(error).toMatchObject({
      code: 'forge_refused',
      message: expect.stringContaining('/elsewhere; redirects') as string,
    })
    expect(other.asked).toEqual([])
    await other.close()
  })

  test('an answer in another form, and one without end, are refused', async () => {
    double.faults.push({ method: 'GET', fault: { status: 200, body: [{ number: '1' }] } })
    expect(await codeOf(openPull(http, door, wanted))).toBe('forge_refused')
    double.faults.push({ method: 'GET', fault: { status: 200, body: 'x'.repeat(FORGE_ANSWER_MAX_BYTES + 1) } })
    expect(await codeOf(openPull(http, door, wanted))).toBe('forge_refused')
    const script = { ...wanted, html_url: 'javascript:alert(1)', number: 1, base: { ref: 'main' } }
    double.faults.push({ method: 'POST', fault: { status: 201, body: script } })
    expect(await codeOf(openPull(http, door, wanted))).toBe('forge_refused')
  })

  test('its words are shown without the token and without control characters', async () => {
    const words = { message: `No\u001b[31m entry for ${FORGE_TOKEN}\u0007`, errors: [{ message: 'Bearer abcdef' }] }
    double.faults.push({ method: 'POST', fault: { status: 422, body: words } })
    const error = (await openPull(http, door, wanted).catch((thrown: ResolveError) => thrown)) as ResolveError
    expect(error.message).toMatch(/refused the pull request: No entry for …/)
    expect(error.message).not.toMatch(/abcdef|\u001b/)
  })

  test('one that is away is told after three tries', async () => {
    double.faults.push(...['', '', ''].map(() => ({ method: 'GET', fault: 'cut' as const })))
    expect(await codeOf(openPull(http, door, wanted))).toBe('forge_unreachable')
    expect(double.asked).toHaveLength(3)
  })

  test('a token of a command that has expired is fetched again', async () => {
    const { repo } = door
    const command = `test -e "$TMPDIR/${process.pid}-used" && echo ${FORGE_TOKEN} || { touch "$TMPDIR/${process.pid}-used"; echo stale; }`
    const credentials = credentialsFor(repo, { settings: { ...settings, token: undefined, tokenCommand: command } })
    process.env['TMPDIR'] ??= '/tmp'
    expect(await openPull(http, { repo, credentials }, wanted)).toMatchObject({ created: true })
  })

  test('an aborted promotion ends', async () => {
    const { repo, credentials } = door
    const signal = AbortSignal.timeout(200)
    double.faults.push({ method: 'GET', fault: { status: 429, headers: { 'retry-after': '2' }, body: {} } })
    await expect(openPull(http, { repo, credentials, signal }, wanted)).rejects.toThrow()
  })
})

function emptyList(name: (typeof FORGE_NAMES)[number]) {
  const bodies = {
    github: [],
    gitlab: [],
    gitea: [],
    bitbucket: { values: [] },
    bitbucket_server: { values: [], isLastPage: true },
    azure: { value: [] },
  }
  return { status: 200, body: bodies[name] }
}
