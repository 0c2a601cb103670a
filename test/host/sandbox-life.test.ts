/** A resolver with the SDK and its sandboxes through the life of an instance: host after host, and to its end (spec, Optional containers; R40). */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import { containersOf, describeWithDocker, testImage } from '../support/docker.ts'
import { created, ranToEnd, storyOf, temporaryHome, until } from '../support/instances.ts'
import type { PlainResolver } from '../support/plain-resolver.ts'

/** A resolver of one TypeScript file; `run` is the body of its run(ctx). */
function sdkResolver(run: string): PlainResolver {
  const dir = mkdtempSync(join(tmpdir(), 'resolve-sandboxed-'))
  const manifest = {
    name: 'sandboxed',
    version: '1.0.0',
    description: 'Uses sandboxes',
    command: ['node', 'resolver.ts'],
    supports_resume: true,
  }
  writeFileSync(join(dir, 'manifest.json'), JSON.stringify(manifest))
  writeFileSync(
    join(dir, 'resolver.ts'),
    `import { resolver } from 'resolve-platform/sdk'\nresolver({ async run(ctx) {\n${run}\n} }).serve()\n`,
  )
  return { dir, name: 'sandboxed' }
}

describeWithDocker('a resolver with sandboxes', () => {
  const before = process.env['RESOLVE_WORKER_IMAGE']
  let home = ''
  beforeAll(() => {
    process.env['RESOLVE_WORKER_IMAGE'] = testImage()
    home = temporaryHome()
  }, 300_000)
  afterAll(() => {
    if (before === undefined) delete process.env['RESOLVE_WORKER_IMAGE']
    else process.env['RESOLVE_WORKER_IMAGE'] = before
  })

  // verifies: S-DIR-11 S-CFG-04
  test('runs a step in a sandbox and goes on with its output; at the end no sandbox is left', async () => {
    const { id, story } = await ranToEnd(
      home,
      sdkResolver(`
      const left = await ctx.sandbox()
      await using box = await ctx.sandbox({ environment: { WHO: 'the box' } })
      await box.write('/tmp/check.mjs', 'console.log(process.env.WHO, 6 * 7)')
      const done = await box.exec(['node', '/tmp/check.mjs'])
      return JSON.stringify([done.exitCode, done.stdout, (await left.exec(['id', '-u'])).stdout])`),
    )
    expect(story.error).toBe(null)
    expect(JSON.parse(story.output ?? '')).toEqual([0, 'the box 42\n', '1000\n'])
    expect(await containersOf(id)).toEqual([])
  }, 60_000)

  test('a sandbox outlives its host, its command does not, and a stop ends all sandboxes', async () => {
    const resolver = sdkResolver(`
      const box = await ctx.sandbox()
      await box.write('/tmp/kept', 'kept')
      ctx.phase('long')
      const lost = await box.exec(['sleep', '300']).then(() => 'ended', (error) => error.code)
      const again = await box.exec(['cat', '/tmp/kept'])
      ctx.mergeState({ lost, again: again.stdout })
      await ctx.ask('more', 'Go on?', {})`)
    const id = await created(home, resolver)
    const first = new HostProcess(home)
    await first.own(id)
    await until(home, id, (story) => story.phase === 'long')
    expect(await containersOf(id)).toHaveLength(1)
    await first.close()
    const next = new HostProcess(home)
    await next.own(id)
    await until(home, id, (story) => story.status === 'awaiting_input')
    const { readInstanceState } = await import('../../src/core/host/ingest/instance-files.ts')
    const { instancePaths } = await import('../../src/core/store/home.ts')
    expect(readInstanceState(instancePaths(home, id))).toMatchObject({ lost: 'sandbox_lost', again: 'kept' })
    expect(await containersOf(id)).toHaveLength(1)
    next.get(id)?.stop('cancel', 'enough', false)
    await next.over(id)
    await next.close()
    expect(storyOf(home, id).status).toBe('cancelled')
    expect(await containersOf(id)).toEqual([])
  }, 60_000)

  test('a worker that dies leaves no sandbox behind', async () => {
    const { id, story } = await ranToEnd(home, sdkResolver(`await ctx.sandbox(); process.kill(process.pid, 'SIGKILL')`))
    expect(story.status).toBe('failed')
    expect(await containersOf(id)).toEqual([])
  }, 60_000)
})
