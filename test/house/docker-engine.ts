/** Asked once before all tests: does a Docker engine answer? What needs one is skipped otherwise, with one line that says so. */
import { execFileSync } from 'node:child_process'
import { request } from 'node:http'
import { join } from 'node:path'
import { root } from './source-files.ts'

export default async function setUp(): Promise<void> {
  const socketPath = (process.env['DOCKER_HOST'] ?? '').replace(/^unix:\/\//, '') || '/var/run/docker.sock'
  const answers = await ping(socketPath)
  const isRequired = process.env['RESOLVE_REQUIRE_DOCKER'] === '1'
  const mayMakeImages = process.platform === 'linux' && process.getuid?.() === 0
  process.env['RESOLVE_TEST_DOCKER'] = answers && mayMakeImages ? 'yes' : 'no'
  if (answers && mayMakeImages) {
    // Before any test waits for it.
    if (isRequired) execFileSync(process.execPath, [join(root, 'scripts', 'docker-base.mjs')], { stdio: 'ignore' })
    return
  }
  const why = answers ? 'making their image needs root on Linux' : `no engine answers at ${socketPath}`
  if (isRequired) throw new Error(`The Docker tests are required, but ${why}.`)
  process.stderr.write(`The Docker tests are skipped: ${why}.\n`)
}

function ping(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const call = request({ socketPath, path: '/_ping', timeout: 5_000 }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    call.on('timeout', () => call.destroy())
    call.on('error', () => resolve(false))
    call.end()
  })
}
