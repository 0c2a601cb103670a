/** Orphaned containers are removed, by label and journal; the commands and doctor checks about Docker report the state. */
import { chmodSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { orphanContainers, startReaper } from '../../src/core/host/process/reaper.ts'
import type { HealthRow } from '../../src/core/platform/platform.ts'
import { homeLabel } from '../../src/core/worker/engine/container-places.ts'
import { type Home, newHome } from '../commands/cli.ts'
import { createdInDocker, describeWithDocker, docker, removeContainersOf, testImage } from '../support/docker.ts'
import { ranToEnd, temporaryHome } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

const image = testImage()
process.env['RESOLVE_WORKER_IMAGE'] = image

let home: string
const foreign: string[] = []
beforeAll(() => {
  home = temporaryHome()
})

/** A container that does nothing, as a dead host leaves it. */
async function left(labels: Record<string, string>): Promise<string> {
  const options = Object.entries(labels).flatMap(([name, value]) => ['--label', `${name}=${value}`])
  return await docker('run', '-d', '--network', 'none', ...options, image, 'sleep', '600')
}

const isThere = async (id: string) => (await docker('ps', '-aq', '--no-trunc', '--filter', `id=${id}`)) !== ''

describeWithDocker('containers that are left', { timeout: 60_000 }, () => {
  afterAll(async () => {
    await removeContainersOf(home)
    for (const id of foreign) await docker('rm', '-f', id).catch(() => undefined)
  })

  // reliability F16
  test('containers of ended or removed instances are removed; live, young and foreign ones stay', async () => {
    const label = homeLabel(home)
    const { id: finished } = await ranToEnd(home, plainResolver(`me.finish({ status: 'completed' })`))
    const live = await createdInDocker(home, plainResolver('', { container: {} }))
    const of = (instance: string, role = 'worker') => ({
      'resolve.home': label,
      'resolve.instance': instance,
      'resolve.role': role,
    })
    const ended = await left(of(finished))
    const gone = await left(of('00000000dead'))
    const setup = await left(of('00000000dead', 'setup'))
    const kept = [await left(of(live)), await left(of('', 'inquiry'))]
    foreign.push(
      await left({ 'resolve.instance': finished, 'resolve.role': 'worker' }),
      await left({ 'resolve.home': 'another', 'resolve.instance': finished }),
      await docker('run', '-d', '--network', 'none', '--name', `resolve-${finished}-9`, image, 'sleep', '600'),
    )
    const orphans = await orphanContainers(home, Date.now(), 0)
    expect(orphans.map(({ id, why }) => [id, why]).toSorted()).toEqual(
      [
        [ended, `${finished} is completed`],
        [gone, '00000000dead is gone'],
        [setup, '00000000dead is gone'],
      ].toSorted(),
    )
    // Young as they are, they are left alone by who reaps each minute.
    expect(await orphanContainers(home)).toEqual([])
    const stop = startReaper(home, 100, 0)
    for (
      let tries = 0;
      tries < 200 && ((await isThere(ended)) || (await isThere(gone)) || (await isThere(setup)));
      tries += 1
    ) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    stop()
    for (const id of [ended, gone, setup]) expect(await isThere(id)).toBe(false)
    for (const id of [...kept, ...foreign]) expect(await isThere(id)).toBe(true)
  })

  test('an inquiry or setup container without an owner is an orphan once it is old', async () => {
    const inquiry = await left({ 'resolve.home': homeLabel(home), 'resolve.role': 'inquiry', 'resolve.instance': '' })
    const later = await orphanContainers(home, Date.now() + 11 * 60_000, 0)
    expect(later.find(({ id }) => id === inquiry)?.why).toBe('its inquiry has ended')
  })
})

describeWithDocker('the commands about Docker', { timeout: 120_000 }, () => {
  let place: Home
  beforeAll(() => {
    place = newHome()
  })
  afterAll(async () => {
    await removeContainersOf(place.home)
    await place.end()
    await docker('rmi', '-f', 'resolve-worker:latest').catch(() => undefined)
  })

  async function rows(...args: string[]): Promise<HealthRow[]> {
    const { stdout } = await place.run('doctor', '--json', ...args)
    return (JSON.parse(stdout) as { checks: HealthRow[] }).checks
  }

  test('doctor reports engine, image and containers without an instance, and removes the last with --fix', async () => {
    const before = await rows()
    expect(before.find(({ check }) => check === 'docker')).toMatchObject({ state: 'ok' })
    expect(before.find(({ check }) => check === 'image')).toMatchObject({
      state: 'ok',
      message: `Containers start from ${image}`,
    })
    expect(before.find(({ check }) => check === 'containers')).toMatchObject({ state: 'ok' })
    const orphan = await left({ 'resolve.home': homeLabel(place.home), 'resolve.instance': '00000000dead' })
    const name = (await docker('inspect', '--format', '{{.Name}}', orphan)).slice(1)
    expect((await rows()).find(({ check }) => check === 'containers')).toMatchObject({
      state: 'failed',
      message: `The container ${name} is there, and 00000000dead is gone`,
      mend: `docker rm -f ${name}`,
    })
    expect((await rows('--fix')).find(({ check }) => check === 'containers')).toMatchObject({ state: 'mended' })
    expect(await isThere(orphan)).toBe(false)
  })

  test('worker build makes the image from a base, and explains why a base does not fit', async () => {
    const built = await place.run('worker', 'build', '--base', image, '--json')
    expect(built.code, built.stderr).toBe(0)
    expect(JSON.parse(built.stdout)).toMatchObject({ schema: 'resolve.worker-image/1', image: 'resolve-worker:latest' })
    const inside = await docker(
      'run',
      '--rm',
      '--network',
      'none',
      'resolve-worker:latest',
      'sh',
      '-c',
      'node -v; git --version; tini --version; id -u 1000',
    )
    expect(inside).toMatch(/^v24[\s\S]*git version[\s\S]*tini version/)
    const refused = await place.run('worker', 'build', '--base', 'no-such-base:1', '--json')
    expect(refused.code).toBe(10)
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'container_refused' } })
  })

  test('worker prune removes kept setups that no container uses, and nothing else', async () => {
    const key = `test${process.pid}`
    await docker('run', '--name', `resolve-keep-${key}`, '--network', 'none', image, 'true')
    await docker(
      'commit',
      '--change',
      `LABEL resolve.setup=${key} resolve.home=${homeLabel(place.home)}`,
      `resolve-keep-${key}`,
      `resolve-setup:${key}`,
    )
    // Another home's.
    await docker(
      'commit',
      '--change',
      'LABEL resolve.setup=x resolve.home=another',
      `resolve-keep-${key}`,
      `resolve-setup:other-${key}`,
    )
    await docker('rm', `resolve-keep-${key}`)
    const planned = await place.run('worker', 'prune', '--dry-run', '--json')
    expect(JSON.parse(planned.stdout).images.map((found: { image: string }) => found.image)).toContain(
      `resolve-setup:${key}`,
    )
    expect(await docker('images', '-q', `resolve-setup:${key}`)).not.toBe('')
    const pruned = await place.run('worker', 'prune', '--json')
    expect(pruned.code, pruned.stderr).toBe(0)
    expect(await docker('images', '-q', `resolve-setup:${key}`)).toBe('')
    for (const stays of [image, `resolve-setup:other-${key}`]) expect(await docker('images', '-q', stays)).not.toBe('')
    await docker('rmi', `resolve-setup:other-${key}`)
  })

  test('a missing engine is reported with a hint (exit 10); a local run still works', async () => {
    const { dir } = plainResolver(`me.finish({ status: 'completed', output: 'here' })`, {
      container: {},
      name: 'boxed',
    })
    chmodSync(dir, 0o755)
    expect((await place.run('resolver', 'add', dir, '--yes')).code).toBe(0)
    const env = { DOCKER_HOST: 'unix:///nowhere/docker.sock' }
    const away = await place.with({ env }, 'run', 'boxed', '--json')
    expect(away.code).toBe(10)
    expect(JSON.parse(away.stdout)).toMatchObject({
      error: { code: 'docker_unreachable', hint: expect.stringContaining('--executor local') },
    })
    const local = await place.with({ env }, 'run', 'boxed', '--executor', 'local', '--json')
    expect(JSON.parse(local.stdout)).toMatchObject({ status: 'completed', output: 'here' })
  })
})
