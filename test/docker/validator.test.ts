/** The validator in its container: no rights, a read-only root, and the network namespace of the software. */
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { root } from '../house/source-files.ts'
import { describeWithDocker, docker, testImage, validatorImage } from '../support/docker.ts'
import { startValidator } from '../validator/program.ts'

const PAGE = `require('node:http').createServer((q, a) => a.setHeader('content-type', 'text/html').end('<h1>From inside</h1>')).listen(8080, '127.0.0.1')`
const software = `resolve-validator-test-${process.pid}`
const MINUTES = 10 * 60_000

describeWithDocker('the validator in a container', () => {
  afterAll(async () => {
    await docker('rm', '-f', software)
  })

  test(
    'it finds, asks and sees software that listens on the loopback of a namespace without network',
    async () => {
      await docker(
        'run',
        '-d',
        '--name',
        software,
        '--network',
        'none',
        '--user',
        '1000',
        testImage(),
        'node',
        '-e',
        PAGE,
      )
      const limits = [
        '--read-only',
        '--tmpfs',
        '/tmp:size=256m',
        '--cap-drop',
        'ALL',
        '--security-opt',
        'no-new-privileges',
      ]
      const mount = ['-v', `${join(root, 'dist')}:/usr/local/lib/resolve:ro`]
      const { call } = startValidator([
        ...['docker', 'run', '--rm', '-i', '--network', `container:${software}`, '--user', '1001', ...limits, ...mount],
        ...[validatorImage(), 'node', '/usr/local/lib/resolve/validator/main.js'],
      ])
      await expect
        .poll(() => call('probe', { port: 8080, path: '/' }), { timeout: 20_000 })
        .toMatchObject({ status: 200 })
      await call('browser.open', { test: 'a3f2b1c4', port: 8080, address: '127.0.0.1' })
      const seen = await call('browser.step', { step: { verb: 'goto', path: '/' }, timeout_ms: 20_000 })
      expect(seen).toMatchObject({ error: null, snapshot: expect.stringContaining('From inside') })
      // Chromium runs now, and listens nowhere.
      expect(await call('listening', {})).toEqual({ ports: [{ port: 8080, address: '127.0.0.1' }] })
      const { screenshot, trace_bytes } = await call<{ screenshot: string; trace_bytes: number }>('browser.close', {})
      expect(screenshot.length).toBeGreaterThan(1_000)
      expect(trace_bytes).toBeGreaterThan(0)
    },
    MINUTES,
  )
})
