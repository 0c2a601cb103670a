/** A host that is killed while a check runs: the next one begins the check anew, the verdict is the same, and no room is left (spec, Reality check). */
import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { describeWithDocker, docker, removeContainersOf, testImage } from '../support/docker.ts'
import { temporaryHome } from '../support/instances.ts'
import { checkProgram, repositoryOf } from './stand.ts'

const SERVER = `setTimeout(() => require('node:http').createServer((_, r) => r.end('Notes')).listen(process.env.PORT), 1500)`
const TESTS = [1, 2].map((n) => ({
  description: `Slow ${n}`,
  steps: [{ run: 'sleep 1' }, { http: { path: '/', expected_status: 200 } }],
}))

describeWithDocker('a host that is killed during a check', { timeout: 240_000 }, () => {
  const home = temporaryHome()
  afterAll(() => removeContainersOf(home))

  test.each(['build', 'start', 'test:'])('in the step %s', async (phase) => {
    const criteria = join(mkdtempSync(join(tmpdir(), 'resolve-criteria-')), 'criteria.json')
    writeFileSync(criteria, JSON.stringify({ tests: TESTS }))
    const repository = repositoryOf({ 'server.js': SERVER, Procfile: 'web: node server.js\n' })
    const program = checkProgram(home, testImage())
    const flags = ['--software', repository, '--criteria', criteria, '--build', 'sleep 2', '--jsonl']
    const child = spawn(program.file, [...program.args, 'check', 'run', ...flags], {
      env: { ...program.env, RESOLVE_GIT_LOCAL: tmpdir() },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += String(chunk)
    })
    const isThere = () => new RegExp(`"step_name":"${phase}[^"]*","state":"begun"`).test(out)
    for (let n = 0; n < 600 && !isThere(); n += 1) await sleep(50)
    expect(isThere(), out.slice(-2_000)).toBe(true)
    const id = /"instance_id":"([^"]+)"/.exec(out)?.[1] ?? ''
    child.kill('SIGKILL')
    const after = await program.run(['instance', 'wait', id, '--timeout', '120s', '--json'], {
      RESOLVE_GIT_LOCAL: tmpdir(),
    })
    expect(after.code, after.stderr).toBe(0)
    const events = (await program.run(['instance', 'events', id, '--json'])).stdout
    expect(events.match(/reality_check\.submitted/g)?.length).toBe(1)
    expect(events.match(/reality_check\.runner_started/g)?.length).toBe(2)
    expect(events.match(/reality_check\.completed/g)?.length).toBe(1)
    expect(events).toMatch(/"verdict":\s*"pass"/)
    expect(await docker('ps', '-aq', '--filter', `label=resolve.instance=${id}`)).toBe('')
  })

  test('a pause cancels the check, and the resumed instance begins it anew; a stop leaves no room', async () => {
    const criteria = join(mkdtempSync(join(tmpdir(), 'resolve-criteria-')), 'criteria.json')
    writeFileSync(criteria, JSON.stringify({ tests: TESTS }))
    const repository = repositoryOf({ 'server.js': SERVER, Procfile: 'web: node server.js\n' })
    const program = checkProgram(home, testImage())
    const local = { RESOLVE_GIT_LOCAL: tmpdir() }
    const begun = async () => {
      const flags = ['--software', repository, '--criteria', criteria, '--build', 'sleep 3', '--detach', '--json']
      const { stdout } = await program.run(['check', 'run', ...flags], local)
      const { instance_id: id } = JSON.parse(stdout) as { instance_id: string }
      for (let n = 0; n < 300; n += 1) {
        if ((await program.run(['instance', 'events', id, '--json'])).stdout.includes('"step_name": "build"')) return id
        await sleep(100)
      }
      throw new TypeError('the build did not begin')
    }
    const id = await begun()
    expect((await program.run(['instance', 'pause', id], local)).code).toBe(0)
    expect(await docker('ps', '-aq', '--filter', `label=resolve.instance=${id}`)).toBe('')
    const resumed = await program.run(['instance', 'resume', id, '--json'], local)
    expect(resumed.code, resumed.stderr).toBe(0)
    const events = (await program.run(['instance', 'events', id, '--json'])).stdout
    expect(events).toContain('platform.reality_check.cancelled')
    expect(events).toMatch(/"verdict":\s*"pass"/)

    const other = await begun()
    await program.run(['instance', 'stop', other], local)
    expect(await docker('ps', '-aq', '--filter', `label=resolve.instance=${other}`)).toBe('')
  })
})
