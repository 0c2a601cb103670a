/** Instances with a repository, for the tests of the page: a real upstream, a forge at the same address, and a resolver that runs scripts in its clone. */
import { type DoubleHandler, doubleHandler, FORGE_TOKEN } from '../support/forges/double.ts'
import { giteaDialect } from '../support/forges/gitea.ts'
import { type GitUpstream, openUpstream } from '../support/git-upstream.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Caller, callerOf, createInstance, newToken, type Server, startServer, untilStatus } from './stand.ts'

export interface RepoStand {
  server: Server
  call: Caller
  upstream: GitUpstream
  forge: DoubleHandler
  close(): Promise<void>
}

/** Scripts run one after the other, each followed by a phase. `push`: then it pushes, and opens a pull request of that title at its git server. */
export interface Work {
  scripts: readonly string[]
  push?: string
  /** It waits to be stopped. */
  waits?: boolean
}

const worker = plainResolver(
  `
  const { execFileSync } = await import('node:child_process')
  const { scripts, push, waits } = me.params
  const [{ path: cwd, working_branch: head }] = me.config.workspace
  const run = (script) => execFileSync('sh', ['-ec', script], { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
  for (const [at, script] of scripts.entries()) {
    run(script)
    me.emit('resolver:phase', { name: 'step ' + (at + 1) })
  }
  if (typeof push === 'string') {
    run('git push -q origin HEAD')
    const { base_url, token } = me.config.git_provider
    const response = await fetch(base_url + '/api/v1/repos/admin/repo/pulls', {
      method: 'POST',
      headers: { authorization: 'token ' + token, 'content-type': 'application/json' },
      body: JSON.stringify({ title: push, head, base: 'main', body: '' }),
    })
    if (!response.ok) throw new Error(await response.text())
  }
  me.emit('resolver:phase', { name: 'done' })
  if (waits) await me.stopped
  me.finish({ status: 'completed', output: 'done' })`,
  { name: 'works', description: 'Runs scripts in its clone' },
  `me.on['resolver.getWorkspaceSpec'] = ({ params }) => ({ repos: [{ url: 'tea/repo' }, ...(params.more ?? []).map((url) => ({ url }))], git_server: true })`,
)

/** Sets variables of this process for the server: the caller restores them. */
export async function openRepoStand(files: Readonly<Record<string, string>>): Promise<RepoStand> {
  const forge = doubleHandler(giteaDialect, ['/api/'])
  const upstream = await openUpstream({ token: FORGE_TOKEN, intercept: forge.handle })
  upstream.create('tea/repo', files)
  process.env['RESOLVE_GIT_PROVIDER'] = 'gitea'
  process.env['RESOLVE_GIT_BASE_URL'] = upstream.base
  process.env['RESOLVE_GIT_HOST_TOKEN'] = FORGE_TOKEN
  const server = await startServer([worker])
  return {
    server,
    call: callerOf(server, await newToken(server.home)),
    upstream,
    forge,
    close: async () => {
      await server.close()
      await upstream.close()
      for (const name of ['PROVIDER', 'BASE_URL', 'HOST_TOKEN']) delete process.env[`RESOLVE_GIT_${name}`]
    },
  }
}

/** Returns once the work is done, and the pull request told where there is one. */
export async function worked({ call }: RepoStand, work: Work & { more?: readonly string[] }): Promise<string> {
  const id = await createInstance(call, 'works', { ...work })
  if (work.waits !== true) {
    await untilStatus(call, id, 'completed', 'failed')
    return id
  }
  const deadline = Date.now() + 40_000
  for (;;) {
    const { phase, git } = await call<{ phase: string | null; git?: { pulls: unknown[] } }>(
      'GET',
      `/instances/${id}/story`,
    )
    if (phase === 'done' && (work.push === undefined || (git?.pulls.length ?? 0) > 0)) return id
    if (Date.now() > deadline) throw new Error(`${id} did not do its work: it is at ${phase}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
