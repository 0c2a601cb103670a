/** Bundles of the sessions of a resolver in a container: fetched by the host, read-only for the worker (docs/containers.md). */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { instanceIds } from '../../src/core/store/home.ts'
import type { Home } from '../commands/cli.ts'
import { describeWithDocker, removeContainersOf, testImage } from '../support/docker.ts'
import { eachWithGitHome } from '../support/git-setting.ts'
import type { GitUpstream } from '../support/git-upstream.ts'
import { eventsOf } from '../support/instances.ts'
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

const LOOKS = `const paths = process.env.RESOLVE_BUNDLES.split(':')
  const tries = (path) => { try { fs.writeFileSync(path + '/x', ''); return 'written' } catch (error) { return error.code } }
  const told = me.config.bundles.map(({ name, path, included }) => [name, path, included])
  const skills = me.config.bundles.map(({ path, subdirectory }) => fs.existsSync(path + '/' + subdirectory + '/SKILL.md'))
  me.finish({ status: 'completed', output: JSON.stringify({ paths, told, skills, tries: paths.map(tries) }) })`

describeWithDocker('bundles in a container', { timeout: 120_000 }, () => {
  test('are in /opt/bundles, with what they include, and can’t be changed (S-MAN-16)', async () => {
    const skill = '---\nname: knot\ndescription: Knots\n---\nTie.'
    upstream.create('a/kit', {
      'bundle.yaml': 'bundle: { name: kit }\nincludes: ["b/kit#subdirectory=skills"]\n',
      'SKILL.md': skill,
    })
    upstream.create('b/kit', { 'skills/SKILL.md': skill })
    const resolver = plainResolver(LOOKS, { container: { bundles: ['a/kit', './own'] } })
    mkdirSync(join(resolver.dir, 'own'))
    writeFileSync(join(resolver.dir, 'own/SKILL.md'), skill)
    chmodSync(resolver.dir, 0o755)
    const env = { RESOLVE_GIT_BASE_URL: upstream.base }
    expect((await cli.run('resolver', 'add', resolver.dir, '--no-prepare')).code).toBe(0)
    const run = await cli.with({ env }, 'run', resolver.name, '--executor', 'docker', '--json')
    const { status, output, error } = JSON.parse(run.stdout)
    expect({ status, error }).toEqual({ status: 'completed', error: null })
    expect(JSON.parse(output)).toEqual({
      paths: ['/opt/bundles/kit', '/resolver/own'],
      told: [
        ['kit', '/opt/bundles/kit', false],
        ['own', '/resolver/own', false],
        ['kit', '/opt/bundles/kit-2', true],
      ],
      skills: [true, true, true],
      tries: ['EROFS', 'EROFS'],
    })
    const [id = ''] = instanceIds(cli.home)
    const types = eventsOf(cli.home, id).map(({ event }) => event.event_type)
    expect(types.indexOf('platform.setup.completed')).toBeLessThan(types.indexOf('platform.container.creating'))
  })
})
