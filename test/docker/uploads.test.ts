/** A resolver that a client sent to a server runs there in a container, never as a program of the machine (R74; threats UP-2). */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openTokens } from '../../src/core/index.ts'
import { homeLabel } from '../../src/core/worker/engine/container-places.ts'
import { type Home, newHome } from '../commands/cli.ts'
import { type ServeProcess, startServe } from '../commands/serving.ts'
import { describeWithDocker, docker, removeContainersOf, testImage } from '../support/docker.ts'
import { plainResolver } from '../support/plain-resolver.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

let over: Home
let client: Home
let server: ServeProcess
let env: Record<string, string>
beforeEach(async () => {
  ;[over, client] = [newHome(), newHome()]
  const { token } = await openTokens(over.home).create({ scope: 'admin' })
  server = await startServe(over.home, ['--uploads'])
  env = { RESOLVE_TOKEN: token, RESOLVE_URL: server.url }
})
afterEach(async () => {
  server.kill('SIGTERM')
  await server.ended
  for (const place of [over, client]) await place.end()
  await removeContainersOf(over.home)
})

const remote = (...args: string[]) => client.with({ env }, ...args)

const BEHAVIOUR = `
  let write = 'may write'
  try { fs.writeFileSync('/resolver/planted', '') } catch (error) { write = error.code }
  const SEEN = process.env.RESOLVE_TOKEN ?? 'no variable'
  me.finish({ status: 'completed', output: [process.getuid(), process.cwd(), fs.readFileSync('/opt/made', 'utf8').trim(), write, me.params.who, SEEN].join(' ') })`

describeWithDocker('a resolver that was sent to a server', { timeout: 90_000 }, () => {
  // verifies: R74
  test('is set up and runs in a container there; its next version runs its own code and setup', async () => {
    const setup = `echo first > /opt/made # ${process.pid} ${Date.now()}`
    const { dir } = plainResolver(BEHAVIOUR, { name: 'sent', container: { setup_commands: [setup] } })
    const added = await remote('resolver', 'add', dir, '--yes')
    expect(added.code, added.stderr).toBe(0)
    const ran = await remote('run', 'sent', '-i', 'who=Ada', '--json')
    expect(ran.code, ran.stderr).toBe(0)
    expect(JSON.parse(ran.stdout)).toMatchObject({
      status: 'completed',
      output: '1000 /resolver first EROFS Ada no variable',
    })
    const local = await remote('run', 'sent', '--executor', 'local', '--json')
    expect(JSON.parse(local.stdout)).toMatchObject({ error: { code: 'upload_needs_container' } })

    const manifest = join(dir, 'manifest.json')
    writeFileSync(
      manifest,
      readFileSync(manifest, 'utf8').replace('1.0.0', '1.1.0').replace('echo first', 'echo second'),
    )
    expect((await remote('resolver', 'add', dir, '--yes')).code).toBe(0)
    const again = await remote('run', 'sent', '-i', 'who=Bob', '--json')
    expect(JSON.parse(again.stdout)).toMatchObject({ output: '1000 /resolver second EROFS Bob no variable' })
    expect(
      await docker(
        'ps',
        '-aq',
        '--filter',
        `label=resolve.home=${homeLabel(over.home)}`,
        '--filter',
        'label=resolve.role=worker',
      ),
    ).toBe('')
  })
})
