/** Canary secrets of an instance in a container: in its config, and nowhere else that anybody can look (threats B9; reliability I9). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readInstanceState, readStderrTail } from '../../src/core/host/ingest/instance-files.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import {
  containersOf,
  createdInDocker,
  describeWithDocker,
  docker,
  removeContainersOf,
  testImage,
} from '../support/docker.ts'
import { eventsOf, storyOf, temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

const LLM = 'sk-canary-0123456789'
const GIT = 'ghp_canaryCANARY9876543210'

describeWithDocker('secrets of a container', { timeout: 90_000 }, () => {
  let home = ''
  beforeAll(() => {
    home = temporaryHome()
    process.env['RESOLVE_LLM_PROVIDER_API_KEY'] = LLM
    process.env['RESOLVE_GIT_HOST_TOKEN'] = GIT
  })
  afterAll(async () => {
    delete process.env['RESOLVE_LLM_PROVIDER_API_KEY']
    delete process.env['RESOLVE_GIT_HOST_TOKEN']
    await removeContainersOf(home)
  })

  test('secrets are in none of environment, processes, labels, image, events and stderr', async () => {
    const resolver = plainResolver(
      `const { llm_provider_api_key: llm, git_host_token: git } = me.config.credentials
       console.error('told ' + llm + ' and ' + git); me.emit('plain.told', { llm, git, token: me.config.sub_container_token })
       me.write('state.json', JSON.stringify({ llm }))
       const read = (path) => me.fs.readFileSync(path, 'utf8')
       const all = me.fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).map((pid) => { try { return read('/proc/' + pid + '/environ') + read('/proc/' + pid + '/cmdline') } catch { return '' } }).join('')
       me.emit('plain.looked', { seen: all.includes(llm) || all.includes(git) || all.includes(me.config.sub_container_token), got: [llm.length, git.length, me.config.sub_container_token.length] })
       await me.stopped; me.finish({ status: 'completed', output: 'with ' + git })`,
      { container: { setup_commands: ['env > /setup.txt; cat /proc/*/cmdline > /setup2.txt || true'] } },
    )
    const id = await createdInDocker(home, resolver)
    const platform = await platformOn(home)
    await platform.host(id)
    await until(home, id, () => eventsOf(home, id).some(({ event }) => event.event_type === 'plain.looked'))
    const { project, journal } = instancePaths(home, id)
    const token = (
      JSON.parse(readFileSync(join(project, '.resolve/config.json'), 'utf8')) as { sub_container_token: string }
    ).sub_container_token
    const canaries = [LLM, GIT, token]
    expect(token).toMatch(/^[0-9a-f]{64}$/)
    const looked = eventsOf(home, id).find(({ event }) => event.event_type === 'plain.looked')?.event.data
    expect(looked).toEqual({ seen: false, got: [LLM.length, GIT.length, 64] })
    const [container] = await containersOf(id)
    const inspected = await docker('inspect', container as string)
    const image = (JSON.parse(inspected) as { Image: string }[])[0]?.Image as string
    const outside = [
      inspected,
      await docker('history', '--no-trunc', image),
      await docker('inspect', image),
      await docker('run', '--rm', '--network', 'none', image, 'cat', '/setup.txt', '/setup2.txt'),
      readFileSync(journal, 'utf8'),
      readStderrTail(instancePaths(home, id)),
      JSON.stringify(readInstanceState(instancePaths(home, id))),
    ].join('\n')
    for (const canary of canaries) expect(outside).not.toContain(canary)
    expect(outside).toContain('told [redacted] and [redacted]')
    await platform.stop(id, { reason: 'enough' })
    await platform.over(id)
    await platform.close()
    expect(storyOf(home, id).output).toBe('with [redacted]')
    for (const name of ['config.json', 'state.json', 'status.json']) {
      const left = readFileSync(join(project, '.resolve', name), 'utf8')
      for (const canary of canaries) expect(left, name).not.toContain(canary)
    }
    const ended = [readFileSync(journal, 'utf8'), readStderrTail(instancePaths(home, id))].join('\n')
    for (const canary of canaries) expect(ended).not.toContain(canary)
  })
})
