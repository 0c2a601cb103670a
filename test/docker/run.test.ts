/** An instance in a container from its creation to its end: what the resolver finds there, how setup goes, how it stops. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import type { Payload } from '../../src/core/protocol/form.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import type { Story } from '../../src/core/view/story.ts'
import {
  containersOf,
  createdInDocker,
  describeWithDocker,
  docker,
  removeContainersOf,
  testImage,
} from '../support/docker.ts'
import { eventsOf, statusesOf, storyOf, temporaryHome, until } from '../support/instances.ts'
import { type PlainResolver, plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

let home: string
let platform: LocalPlatform
beforeAll(async () => {
  home = temporaryHome()
  platform = await platformOn(home)
})
afterAll(() => platform.close())

async function ran(resolver: PlainResolver, input: Payload = {}, setup: Record<string, unknown> = {}) {
  const id = await createdInDocker(home, resolver, input, setup)
  return { id, story: await lived(id) }
}

async function lived(id: string): Promise<Story> {
  await platform.host(id)
  await platform.over(id)
  return storyOf(home, id)
}

const typesOf = (id: string) => eventsOf(home, id).map(({ event }) => event.event_type)

/** Runs lines of shell in the worker, and tells what each said. */
const looking = (expressions: Record<string, string>) =>
  plainResolver(
    `const { createRequire } = await import('node:module'); const require = createRequire('/')
     const sh = (line) => { try { return require('node:child_process').execSync(line, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim() } catch (error) { return 'refused: ' + String(error.stderr).trim().split('\\n').pop() } }
     const found = {}; const look = ${JSON.stringify(expressions)}
     for (const [name, line] of Object.entries(look)) found[name] = sh(line)
     me.finish({ status: 'completed', output: JSON.stringify({ ...found, config: me.config, cwd: process.cwd() }) })`,
    { container: {} },
  )

describeWithDocker('an instance in a container', { timeout: 60_000 }, () => {
  afterAll(() => removeContainersOf(home))

  test('the resolver is the main process, alone, without rights, in /project (S-SVC-03, S-LIM-01, R43)', async () => {
    const resolver = looking({
      user: 'id -u; id -g',
      rights: "grep -E '^(CapEff|CapBnd|CapPrm|NoNewPrivs)' /proc/self/status",
      first: "tr '\\0' ' ' < /proc/1/cmdline",
      pids: 'cat /sys/fs/cgroup/pids/pids.max 2>/dev/null || cat /sys/fs/cgroup/pids.max',
      device: 'mknod /project/.resolve/disk b 1 0',
      source: 'touch /resolver/x',
      config: 'echo x > /project/.resolve/config.json',
      unlink: 'rm -f /project/.resolve/config.json',
      message: 'touch /project/.resolve/messages/001.json',
      away: 'mv /project/.resolve /project/elsewhere',
      workspace: 'touch /project/workspace/mine && ls /project/workspace',
      mode: 'stat -c "%a %u" /project/.resolve/config.json',
    })
    const { id, story } = await ran(resolver)
    expect(story).toMatchObject({ status: 'completed', incarnation: 1 })
    const found = JSON.parse(story.output as string)
    expect(found).toMatchObject({
      user: '1000\n1000',
      cwd: '/resolver',
      pids: '256',
      mode: '600 1000',
      workspace: 'mine',
      config: { project_path: '/project', resolve_path: '/project/.resolve', workspace_path: '/project/workspace' },
    })
    expect(found.rights.replaceAll(/\s+/g, ' ')).toBe(
      'CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1',
    )
    expect(found.first).toMatch(/^\/sbin\/docker-init -- node program\.mjs/)
    expect(found.device).toMatch(/Operation not permitted/)
    for (const what of ['source', 'message']) expect(found[what]).toMatch(/Read-only file system/)
    for (const what of ['unlink', 'away']) expect(found[what]).toMatch(/busy/)
    expect(typesOf(id)).toEqual([
      ...['platform.instance.status_changed', 'platform.container.creating'],
      ...['platform.worker.launched', 'platform.worker.ready', 'platform.instance.status_changed'],
      'platform.instance.status_changed',
    ])
    // The end is told when nothing is left, and the config that is kept holds no secret (R20, R43).
    expect(await containersOf(id)).toEqual([])
    expect(
      JSON.parse(readFileSync(join(instancePaths(home, id).project, '.resolve/config.json'), 'utf8')),
    ).toMatchObject({
      credentials: { llm_provider_api_key: '', git_host_token: '' },
    })
  })

  test('events, a question and its answer pass as with a local worker', async () => {
    const behaviour = `me.emit('plain.before', { n: 1 }); const a = await me.ask('q', 'Who?'); me.emit('plain.after', a); fs.mkdirSync(root + '/data', { recursive: true }); fs.writeFileSync(root + '/data/out.txt', 'hello ' + a.who); me.finish({ status: 'completed', output: a.who })`
    const id = await createdInDocker(home, plainResolver(behaviour, { container: {} }))
    await platform.host(id)
    await until(home, id, (story) => story.status === 'awaiting_input')
    await platform.answer(id, 'q', { who: 'Ada' }, { actor: 'tester', via: 'cli' })
    await platform.over(id)
    expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: 'Ada' })
    expect(typesOf(id)).toEqual(expect.arrayContaining(['plain.before', 'platform.input.answered', 'plain.after']))
    let text = ''
    for await (const bytes of (await platform.data(id, 'out.txt')).stream) text += bytes.toString()
    expect(text).toBe('hello Ada')
  })

  test('container.command overrides command (S-MAN-13)', async () => {
    const container = { command: ['node', '--title=inside', 'program.mjs'] }
    const resolver = plainResolver(`me.finish({ status: 'completed', output: process.title })`, {
      command: ['no-such-program'],
      container,
    })
    expect((await ran(resolver)).story).toMatchObject({ status: 'completed', output: 'inside' })
  })

  test('setup runs as root, in order, once; the next run starts from what it left (S-MAN-14, S-LIM-06, S-PLUG-06)', async () => {
    const stamp = `${process.pid}-${Date.now()}`
    const container = {
      setup_commands: [
        `id -u > /opt/made-${stamp}`,
        `echo second >> /opt/made-${stamp}`,
        'test ! -e /project/.resolve',
      ],
    }
    const resolver = plainResolver(
      `me.finish({ status: 'completed', output: fs.readFileSync('/opt/made-${stamp}', 'utf8') + (process.env.GREETING ?? '') })`,
      { container },
    )
    const setup = { setup_commands: [`echo added >> /opt/made-${stamp}`], environment: {} }
    const first = await ran(resolver, {}, setup)
    expect(first.story).toMatchObject({ status: 'completed', output: '0\nsecond\nadded\n' })
    const told = eventsOf(home, first.id).filter(({ event }) => event.event_type.startsWith('platform.setup.'))
    expect(told.map(({ event }) => [event.event_type.slice('platform.setup.'.length), event.data['step']])).toEqual([
      ['starting', undefined],
      ...[1, 1, 2, 2, 3, 3].map((step) => ['progress', step]),
      ['completed', undefined],
      // What the resolver adds for the input is known once it can be asked.
      ['starting', undefined],
      ...[4, 4].map((step) => ['progress', step]),
      ['completed', undefined],
    ])
    expect(told[2]?.event.data).toEqual({ step: 1, total: 3, description: container.setup_commands[0], exit_code: 0 })
    expect(told.at(-1)?.event.data).toMatchObject({ total: 4, cached: false })

    const second = await ran(resolver, {}, setup)
    expect(second.story).toMatchObject({ status: 'completed', output: '0\nsecond\nadded\n' })
    const again = eventsOf(home, second.id).find(({ event }) => event.event_type === 'platform.setup.completed')
    expect(again?.event.data).toMatchObject({ cached: true })

    // Its files changed, so it may set up something else.
    writeFileSync(join(resolver.dir, 'more.txt'), 'x')
    const third = await ran(resolver, {}, setup)
    const anew = eventsOf(home, third.id).find(({ event }) => event.event_type === 'platform.setup.completed')
    expect(anew?.event.data).toMatchObject({ cached: false })
  })

  test('a setup command that fails ends the instance, with the command and what it said (S-MOVE-04, R17)', async () => {
    const container = { setup_commands: ['true', 'echo the reason; exit 9', 'touch /never'] }
    const { id, story } = await ran(plainResolver(`me.finish({ status: 'completed' })`, { container }))
    expect(story).toMatchObject({ status: 'failed', error: { code: 'setup_failed' } })
    expect(story.error?.detail).toBe('Setup step 2 of 3 ended with exit code 9: echo the reason; exit 9\nthe reason')
    const failed = eventsOf(home, id).find(({ event }) => event.event_type === 'platform.setup.failed')
    expect(failed?.event.data).toMatchObject({ cause: 'setup_commands', stage: '2/3' })
    expect(await containersOf(id)).toEqual([])
  })

  test('a stop during setup ends it there (R20)', async () => {
    const id = await createdInDocker(
      home,
      plainResolver(`me.finish({ status: 'completed' })`, { container: { setup_commands: ['sleep 600'] } }),
    )
    await platform.host(id)
    for (let tries = 0; tries < 500 && !typesOf(id).includes('platform.setup.progress'); tries += 1) await sleep(20)
    await platform.stop(id, { reason: 'enough' })
    await platform.over(id)
    expect(statusesOf(home, id)).toEqual(['created', 'starting', 'cancelled'])
    expect(await containersOf(id)).toEqual([])
  })

  test('dev sources and allowed volumes stand where they belong (S-MAN-15)', async () => {
    const sources = mkdtempSync(join(tmpdir(), 'resolve-sources-'))
    const shared = mkdtempSync(join(tmpdir(), 'resolve-shared-'))
    mkdirSync(join(sources, 'kit'))
    writeFileSync(join(sources, 'kit/version'), 'dev')
    writeFileSync(join(shared, 'model'), 'weights')
    for (const path of [sources, join(sources, 'kit'), shared]) (await import('node:fs')).chmodSync(path, 0o755)
    Object.assign(process.env, { RESOLVE_DEV_SOURCES: sources, RESOLVE_VOLUME_ALLOW: shared })
    const container = {
      dev_source_overrides: ['kit'],
      bundles: ['https://example.org/team/kit.git'],
      setup_commands: ['cp /opt/kit/version /opt/installed'],
      volume_mounts: [`${shared}:/models`],
    }
    const output = `['/opt/installed', '/models/model'].map((path) => fs.readFileSync(path, 'utf8')).join() + process.env.RESOLVE_BUNDLES`
    const resolver = plainResolver(`me.finish({ status: 'completed', output: ${output} })`, { container })
    try {
      expect((await ran(resolver)).story).toMatchObject({ status: 'completed', output: 'dev,weights/opt/kit' })
      process.env['RESOLVE_VOLUME_ALLOW'] = ''
      const refused = await ran(resolver)
      expect(refused.story).toMatchObject({ status: 'failed', error: { code: 'mount_refused' } })
    } finally {
      delete process.env['RESOLVE_DEV_SOURCES']
      delete process.env['RESOLVE_VOLUME_ALLOW']
    }
  })

  test('an exit without a result is a failure, and a child killed by the kernel does not end the run (R21)', async () => {
    const { story } = await ran(plainResolver(`process.exit(0)`, { container: {} }))
    expect(story).toMatchObject({ status: 'failed', error: { code: 'worker_exited' } })
    expect(story.error?.detail).toContain('exit code 0')
  })

  test('a resolver that ignores a stop is ended by force (S-RULE-04, R26)', { timeout: 90_000 }, async () => {
    const id = await createdInDocker(
      home,
      plainResolver(`process.on('SIGTERM', () => {}); me.emit('plain.up'); setInterval(() => {}, 1000)`, {
        container: {},
      }),
    )
    await platform.host(id)
    await until(home, id, (story) => story.status === 'running')
    await platform.stop(id, { reason: 'enough', force: true })
    await platform.over(id)
    expect(storyOf(home, id).history.at(-1)).toMatchObject({ status: 'cancelled', reason: 'enough', forced: true })
    expect(await containersOf(id)).toEqual([])
  })

  test('a container that is removed from outside is a lost worker', async () => {
    const id = await createdInDocker(home, plainResolver(`setInterval(() => {}, 1000)`, { container: {} }))
    await platform.host(id)
    await until(home, id, (story) => story.status === 'running')
    for (const container of await containersOf(id)) await docker('rm', '-f', container)
    await platform.over(id)
    expect(storyOf(home, id)).toMatchObject({ status: 'failed', error: { code: 'worker_lost' } })
  })

  test('a pause ends the container, and a resume has a new one on the same files (R24)', async () => {
    const behaviour = `if (me.resume) return me.finish({ status: 'completed', output: fs.readFileSync('/project/workspace/kept', 'utf8') })
      fs.writeFileSync('/project/workspace/kept', 'from before'); me.finish({ status: 'paused' })`
    const id = await createdInDocker(home, plainResolver(behaviour, { container: {}, supports_resume: true }))
    expect((await lived(id)).status).toBe('paused')
    expect(await containersOf(id)).toEqual([])
    await platform.resume(id)
    await platform.over(id)
    expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: 'from before', incarnation: 2 })
  })

  test('a missing image is reported with the command that makes it', async () => {
    const before = process.env['RESOLVE_WORKER_IMAGE']
    delete process.env['RESOLVE_WORKER_IMAGE']
    const resolver = plainResolver('', { container: { image: 'no-such-image:1' } })
    try {
      await expect(ran(resolver)).rejects.toMatchObject({
        code: 'image_missing',
        message: expect.stringContaining('"no-such-image:1"'),
      })
    } finally {
      process.env['RESOLVE_WORKER_IMAGE'] = before
    }
  })

  test('the resolver owns its project directory and cannot read the rest of the instance directory', async () => {
    const { id } = await ran(looking({ home: 'ls /project/..' }))
    const { root, project, journal } = instancePaths(home, id)
    if (process.getuid?.() === 0) expect(statSync(project).uid).toBe(1000)
    for (const path of [root, journal]) expect(statSync(path).mode & 0o077).toBe(0)
    expect(existsSync(join(project, '.resolve/messages'))).toBe(true)
  })
})
