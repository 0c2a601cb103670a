/** The image of the validator: `resolve worker build --validator` makes it, and a check starts from it where it exists. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pickValidatorImage } from '../../src/core/reality-check/room/validator-image.ts'
import { theEngine } from '../../src/core/worker/engine/engine.ts'
import { type Home, newHome } from '../commands/cli.ts'
import { describeWithDocker, docker, testImage, validatorImage } from '../support/docker.ts'

const BUILT = 'resolve-validator:latest'
const MINUTES = 10 * 60_000

describeWithDocker('the image of the validator', { timeout: MINUTES }, () => {
  let place: Home
  let earlier = ''
  beforeAll(async () => {
    place = newHome()
    earlier = await docker('images', '-q', '--no-trunc', BUILT)
    await docker('rmi', '-f', BUILT).catch(() => undefined)
  })
  afterAll(async () => {
    await place.end()
    await docker('rmi', '-f', BUILT).catch(() => undefined)
    if (earlier !== '') await docker('tag', earlier, BUILT).catch(() => undefined)
  })

  const picked = (env: NodeJS.ProcessEnv) => pickValidatorImage(theEngine(), 'the-workers:1', env)

  test('it is built from a base that has Chromium, and checks use it from then on, unless the operator names another', async () => {
    expect(await picked({})).toBe('the-workers:1')
    const built = await place.run('worker', 'build', '--validator', '--base', validatorImage(), '--json')
    expect(built.code, built.stderr).toBe(0)
    expect(JSON.parse(built.stdout)).toMatchObject({ schema: 'resolve.worker-image/1', image: BUILT })
    const label = await docker('inspect', '--format', '{{index .Config.Labels "resolve.validator"}}', BUILT)
    expect(label).toBe('1')
    const dump = ['chromium-headless-shell', '--no-sandbox', '--dump-dom', 'data:text/html,<p>seen']
    const seen = await docker('run', '--rm', '--network', 'none', '--user', '1001', '-e', 'HOME=/tmp', BUILT, ...dump)
    expect(seen).toContain('<p>seen</p>')
    expect(await picked({})).toBe(BUILT)
    expect(await picked({ RESOLVE_VALIDATOR_IMAGE: 'mine:2' })).toBe('mine:2')
  })

  test('a base without Node 24 is refused with the last output of the build', async () => {
    const empty = `resolve-validator-empty:${process.pid}`
    await docker(
      'run',
      '--name',
      `resolve-empty-${process.pid}`,
      '--network',
      'none',
      '--user',
      '0',
      testImage(),
      'rm',
      '/usr/local/bin/node',
    )
    await docker('commit', `resolve-empty-${process.pid}`, empty)
    await docker('rm', `resolve-empty-${process.pid}`)
    try {
      const refused = await place.run('worker', 'build', '--validator', '--base', empty, '--json')
      expect(refused.code).toBe(10)
      expect(JSON.parse(refused.stdout).error).toMatchObject({
        code: 'container_refused',
        message: expect.stringContaining(`build ${BUILT}`),
      })
    } finally {
      await docker('rmi', '-f', empty)
    }
  })
})
