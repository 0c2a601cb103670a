/** The git server beside a worker in a container: reached over each kind of network, and gone at the end (docs/git.md, The git server). */
import { chmodSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { instanceIds, instancePaths } from '../../src/core/store/home.ts'
import type { Home } from '../commands/cli.ts'
import { containersOf, describeWithDocker, docker, removeContainersOf, testImage } from '../support/docker.ts'
import { asksFor, eachWithGitHome, IN_CLONE } from '../support/git-setting.ts'
import { type GitUpstream, gitText } from '../support/git-upstream.ts'
import { eventsOf, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

let cli: Home
let upstream: GitUpstream
eachWithGitHome(
  (made) => {
    ;({ cli, upstream } = made)
  },
  undefined,
  removeContainersOf,
)

const TOOLS = `${IN_CLONE}  const work = (name) => sh('echo ' + name + ' > ' + name + ' && git add -A && git commit -qm ' + name)
`

async function resolver(behaviour: string, container: object, asked = 'git_server') {
  upstream.create('org/app', { a: '1' })
  const asks = asksFor(['org/app'], { [asked]: true })
  const made = plainResolver(TOOLS + behaviour, { container }, asks)
  chmodSync(made.dir, 0o755)
  expect((await cli.run('resolver', 'add', made.dir, '--no-prepare')).code).toBe(0)
  return made.name
}

/** A port of this machine on every address, which no worker may reach, also not over the network of its git server. */
async function openPort(): Promise<number> {
  const server = createServer((_, response) => response.end('here'))
  await new Promise<void>((done) => server.listen(0, '0.0.0.0', done))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const left = async (id: string) => [
  await containersOf(id),
  await docker('network', 'ls', '-q', '--filter', `label=resolve.instance=${id}`),
]

describeWithDocker('a git server in a container', { timeout: 120_000 }, () => {
  test.each([
    ['open', {}, 'git_server'],
    ['none', { network: 'none' }, 'gitea'],
    ['allowlist', { network: 'allowlist', egress: ['example.org'] }, 'git_server'],
  ])(
    'is reached by name over the network "%s", and the machine itself is not (S-DIR-12, S-DIR-14, S-DIR-14-GITEA)',
    async (_, container, asked) => {
      const name = await resolver(
        `
      work('one'); sh('git push -q origin HEAD')
      const { GITEA_URL, GITEA_TOKEN } = process.env
      const variables = GITEA_URL === undefined ? GITEA_TOKEN : GITEA_URL + ' ' + (GITEA_TOKEN === me.config.git_provider.token)
      const url = sh('create-pr --title Work')
      // The machine itself, by the gateway of each network that the worker is in, and by that of the engine.
      const { networkInterfaces } = await import('node:os')
      const own = Object.values(networkInterfaces()).flat().filter(({ internal, family }) => !internal && family === 'IPv4')
      const first = ({ address, netmask }) => {
        const masks = netmask.split('.')
        const parts = address.split('.').map((part, at) => Number(part) & Number(masks[at]))
        return [...parts.slice(0, 3), parts[3] + 1].join('.')
      }
      const gates = new Set(['172.17.0.1', ...own.map(first)])
      const knock = (gate) => fetch('http://' + gate + ':' + me.params.port, { signal: AbortSignal.timeout(3000) }).then(() => true, () => false)
      const isReached = (await Promise.all([...gates].map(knock))).includes(true)
      me.finish({ status: 'completed', output: [url, me.config.platform_url, sh('command -v create-pr'), isReached, variables].join(' ') })`,
        container,
        asked,
      )
      const env = { RESOLVE_GIT_BASE_URL: upstream.base }
      const port = await openPort()
      const run = await cli.with({ env }, 'run', name, '--executor', 'docker', '-i', `port=${port}`, '--json')
      const { status, output, error } = JSON.parse(run.stdout)
      expect({ status, error }).toEqual({ status: 'completed', error: null })
      const seen = 'http://git-server:3000/admin/app/pulls/1 http://git-server:3000 /usr/local/bin/create-pr'
      expect(output).toBe(`${seen} false ${asked === 'gitea' ? 'http://git-server:3000 true' : ''}`)
      const [id = ''] = instanceIds(cli.home)
      const types = eventsOf(cli.home, id).map(({ event }) => event.event_type)
      expect(types).toContain('platform.git.pushed')
      expect(types).toContain('platform.git.pull_request')
      const bare = join(instancePaths(cli.home, id).git, 'app.git')
      expect(gitText(bare, ['log', '--format=%s', '--branches', '--not', 'refs/start'])).toBe('one')
      expect(await left(id)).toEqual([[], ''])
    },
  )

  test('goes on while its host is killed, and the next host finds it and ends it', async () => {
    const name = await resolver(
      `
      work('one'); sh('git push -q origin HEAD')
      await me.ask('go', 'Go on?')
      work('two'); sh('create-pr --title Work')
      me.finish({ status: 'completed' })`,
      {},
    )
    const host = cli.start({ RESOLVE_GIT_BASE_URL: upstream.base }, 'run', name, '--executor', 'docker')
    await expect.poll(() => instanceIds(cli.home)[0], { timeout: 30_000 }).toBeDefined()
    const [id = ''] = instanceIds(cli.home)
    await until(cli.home, id, ({ requests, git }) => requests.length === 1 && git?.pushes.length === 1, 60_000)
    host.kill('SIGKILL')
    await host.ended
    expect((await containersOf(id)).length).toBe(2)
    expect((await cli.run('instance', 'answer', id, 'go')).code).toBe(0)
    const story = await until(cli.home, id, ({ status }) => ['completed', 'failed'].includes(status), 60_000)
    expect(story).toMatchObject({ status: 'completed', git: { pulls: [{ number: 1, action: 'opened' }] } })
    expect(eventsOf(cli.home, id).filter(({ event }) => event.event_type === 'platform.git.pushed')).toHaveLength(2)
    await expect.poll(async () => await left(id), { timeout: 20_000 }).toEqual([[], ''])
  })
})
