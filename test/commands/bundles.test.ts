/** Bundles of a resolver's sessions (docs/sessions.md, Bundles): added, fetched and used through the built program. The bundles are of our own writing. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import type { Line } from '../../src/sessions/transcript/lines.ts'
import { type GitUpstream, openUpstream } from '../support/git-upstream.ts'
import { eventsOf } from '../support/instances.ts'
import { type Home, newHome } from './cli.ts'

const RESOLVER = `
import { resolver, text } from 'resolve-platform/sdk'
resolver({
  params: { options: text({ label: 'Options' }) },
  async run(ctx) {
    const { pauses, ...options } = JSON.parse(ctx.params.options || '{}')
    if (pauses && !ctx.resume) { ctx.checkpoint.save(1); ctx.pause('later') }
    const work = await ctx.sessions.create('work', { model: 'scripted/' + new URL('script.json', import.meta.url).pathname, ...options })
    const { output } = await work.run('Go.')
    return output + ' ' + (process.env.RESOLVE_BUNDLES ?? '').split(':').filter(Boolean).length
  },
}).serve()
`

const skill = (name: string, body: string) => `---\nname: ${name}\ndescription: How to ${name}\n---\n${body}\n`

/** A plugin as Claude Code has them. */
const PLUGIN = {
  '.claude-plugin/plugin.json': JSON.stringify({ name: 'powers', version: '1.0.0' }),
  'skills/brush/SKILL.md': skill('brush', 'Use a brush, as colours.txt says.'),
  'skills/brush/colours.txt': 'blue',
  'agents/reviewer.md':
    '---\nname: reviewer\ndescription: Use it when: a change is done: it says "no" often\ntools: Read, Grep, WebSearch\n---\nYou are the strict reviewer.\n',
  'hooks/hooks.json': '{}',
  'commands/paint.md': 'Paint it.',
}

/** A bundle as Amplifier has them, with what it includes. */
const BUNDLE = {
  'bundle.md': `---
bundle: { name: studio, version: 1.0.0 }
includes:
  - bundle: studio:behaviors/calm
  - bundle: git+https://git.example.org/microsoft/amplifier-foundation@main#subdirectory=behaviors/agents.yaml
  - bundle: team/frames@v1#subdirectory=bundles/frame
  - bundle: ssh://git@internal.example.org/private/thing
tools: [{ module: tool-bash, source: git+https://git.example.org/x }, { module: tool-paint }]
hooks: [{ module: hooks-logging }]
agents:
  include: [studio:painter]
  sweeper: { description: Sweeps the floor, instruction: You sweep. }
context: { include: [studio:context/house.md] }
---
Paint what is asked. See @studio:context/rules.md.
`,
  'behaviors/calm.yaml':
    'bundle: { name: calm }\nincludes: [studio:bundle.md]\ncontext: { include: [studio:context/calm.md] }\n',
  'context/house.md': 'The house is old.',
  'context/calm.md': 'Stay calm.',
  'context/rules.md': 'Rule one: no red.',
  'agents/painter.md': '---\nmeta: { name: painter, description: Paints }\n---\nYou are the painter.\n',
  'skills/mix/SKILL.md': skill('mix', 'Mix well.'),
}
const FRAMES = {
  'bundles/frame/bundle.yaml': 'bundle: { name: frame }\ncontext: { include: [frame:wood.md] }\n',
  'bundles/frame/wood.md': 'Frames are of wood.',
  'README.md': 'nothing',
}

let place: Home
let upstream: GitUpstream
let base: string

beforeAll(async () => {
  place = newHome()
  base = mkdtempSync(join(tmpdir(), 'resolve-bundles-'))
  upstream = await openUpstream()
  upstream.create('team/powers', PLUGIN)
  upstream.create('team/studio', BUNDLE)
  upstream.create('team/frames', { 'README.md': 'nothing' })
  upstream.commit('team/frames', FRAMES)
  upstream.git('team/frames', 'tag', 'v1', 'main')
})

afterAll(async () => {
  await place.end()
  await upstream.close()
  rmSync(base, { recursive: true, force: true })
})

interface Ran {
  id: string
  status: string
  output: string | null
  error: { code: string; detail: string } | null
  lines: Line[]
  results: string[]
  warnings: Record<string, string>
  bundles: { url: string; ref: string | null; commit: string }[]
}

type Turn = { text?: string; calls?: { tool: string; input: unknown }[] }

/** Adds a resolver with these bundles, and runs it with these calls of its model. */
async function ran(
  name: string,
  bundles: string[],
  calls: [tool: string, input: Record<string, unknown>][],
  more: {
    options?: Record<string, unknown>
    env?: Record<string, string>
    files?: Record<string, string>
    turns?: Record<string, Turn[]>
  } = {},
): Promise<Ran> {
  const dir = join(base, name)
  const manifest = {
    name,
    version: '1.0.0',
    description: 'Paints',
    command: ['node', 'resolver.mjs'],
    supports_resume: true,
  }
  const turns: Turn[] = [...calls.map(([tool, input]) => ({ calls: [{ tool, input }] })), { text: 'Done.' }]
  const files = {
    'manifest.json': JSON.stringify({ ...manifest, container: { bundles } }),
    'resolver.mjs': RESOLVER,
    'script.json': JSON.stringify({ sessions: { work: turns, ...more.turns } }),
    ...more.files,
  }
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), content)
  }
  const added = await place.run('resolver', 'add', dir, '--force', '--no-prepare', '--no-check')
  expect(added).toMatchObject({ code: 0 })
  return await again(name, more.options, more.env)
}

const hostOf = ({ base: url }: GitUpstream) => ({ RESOLVE_GIT_BASE_URL: url, RESOLVE_GIT_PROVIDER: 'gitea' })

async function again(
  name: string,
  options: Record<string, unknown> = {},
  env: Record<string, string> = hostOf(upstream),
): Promise<Ran> {
  const stdin = JSON.stringify({ options: JSON.stringify(options) })
  const { stdout } = await place.with(
    { env, stdin },
    ...['run', name, '--executor', 'local', '--input-file', '-', '--json'],
  )
  return toRan(stdout)
}

function toRan(stdout: string): Ran {
  const told = JSON.parse(stdout) as Ran & { instance_id: string }
  const id = told.instance_id
  const transcript = join(instancePaths(place.home, id).project, '.resolve/sessions/work/transcript.jsonl')
  const lines = told.status === 'completed' ? readFileSync(transcript, 'utf8').trim().split('\n') : []
  const parsed = lines.map((line) => JSON.parse(line) as Line)
  const results = parsed.flatMap((line) => (line.type === 'tool_result' ? [line.output] : []))
  const found = eventsOf(place.home, id).filter(({ event }) => event.event_type === 'platform.watchdog.warning')
  const warnings = Object.fromEntries(found.map(({ event: { data } }) => [data['kind'], data['detail']]))
  return { ...told, id, lines: parsed, results, warnings }
}

// verifies: S-MAN-16
test('a plugin of a git host gives its skills and agents to a session; what can’t run is named in a warning', async () => {
  const { output, results, warnings, lines, id } = await ran(
    'painter',
    ['team/powers'],
    [
      ['skill', { name: 'powers:brush' }],
      ['skill', { name: 'brush' }],
      ['agent', { agent: 'powers:reviewer', task: 'Look.' }],
    ],
    { turns: { 'powers:reviewer': [{ text: 'Not good enough.' }] } },
  )
  expect(output).toBe('Done. 1')
  expect(results[0]).toContain('Use a brush')
  expect(results[1]).toBe(results[0])
  expect(results[2]).toBe('Not good enough.')
  expect(lines[0]).toMatchObject({ tools: expect.arrayContaining(['skill', 'agent']) })
  expect(warnings).toEqual({
    bundle_unsupported: 'powers: hooks; powers: commands paint; powers: tool WebSearch of the agent reviewer',
    bundle_faulty: expect.stringContaining('agents/reviewer.md: its YAML is broken in line'),
  })
  const steps = eventsOf(place.home, id).filter(({ event }) => event.event_type === 'platform.setup.progress')
  expect(steps.map(({ event }) => event.data)).toMatchObject([
    { step: 1, total: 1, description: 'Fetch the bundle powers' },
    { exit_code: 0, output: expect.stringMatching(/^[0-9a-f]{12}$/) },
  ])
  const shown = await place.run('resolver', 'show', 'painter')
  expect(shown.stdout).toContain('bundle     team/powers')

  // What is there is not fetched again, and the files beside a skill are readable.
  const folder = /\[Its files are in (.*)\]/.exec(results[0] ?? '')?.[1] ?? ''
  const second = await ran('painter', ['team/powers'], [['read', { path: join(folder, 'colours.txt') }]])
  expect(second.results).toEqual(['     1\tblue'])
  const cached = eventsOf(place.home, second.id).find(({ event }) => event.event_type === 'platform.setup.completed')
  expect(cached?.event.data).toMatchObject({ total: 1, cached: true })

  // A new commit is.
  upstream.commit('team/powers', { 'skills/brush/SKILL.md': skill('brush', 'Use two brushes.') })
  const third = await ran('painter', ['team/powers'], [['skill', { name: 'brush' }]])
  expect(third.results[0]).toContain('Use two brushes')
})

test('a session runs as an agent of a bundle: with its instructions and tools alone', async () => {
  const as = await ran('as-agent', ['team/powers'], [['write', { path: 'x', content: 'x' }]], {
    options: { agent: 'powers:reviewer' },
  })
  expect(as.lines[0]).toMatchObject({ tools: ['read', 'search', 'skill'] })
  expect(as.results[0]).toContain('write')
  const unknown = await again('as-agent', { agent: 'powers:nurse' })
  expect(unknown.error?.detail).toContain('there is no agent "powers:nurse" in its bundles; there are powers:reviewer')
  const none = await ran('as-agent', ['team/powers'], [], { options: { bundles: false } })
  expect(none.lines[0]).toMatchObject({ tools: expect.not.arrayContaining(['skill', 'agent']) })
})

test('a bundle with includes brings what they say; what another platform stands for, and what is private, is left out', async () => {
  const { output, lines, warnings, results } = await ran(
    'studio',
    ['team/studio@main', './kit'],
    [
      ['skill', { name: 'mix' }],
      ['skill', { name: 'kit:knot' }],
      ['agent', { agent: 'studio:painter', task: 'Paint.' }],
      ['agent', { agent: 'studio:sweeper', task: 'Sweep.' }],
    ],
    {
      files: { 'kit/knot/SKILL.md': skill('knot', 'Tie it.'), 'kit/AGENTS.md': 'Advice of the kit.' },
      turns: { 'studio:painter': [{ text: 'Painted.' }], 'studio:sweeper': [{ text: 'Swept.' }] },
    },
  )
  expect(output).toBe('Done. 2')
  expect(results.slice(2)).toEqual(['Painted.', 'Swept.'])
  expect([results[0]?.includes('Mix well.'), results[1]?.includes('Tie it.')]).toEqual([true, true])
  expect(warnings).toEqual({
    bundle_unsupported: 'studio: hook hooks-logging; studio: tool tool-paint',
    bundle_faulty:
      'studio: ssh://git@internal.example.org/private/thing is not included: ssh is allowed only for the hosts in RESOLVE_GIT_SSH_HOSTS, and internal.example.org is none of them',
  })
  expect(lines[0]).toMatchObject({ type: 'session', name: 'work' })
})

test('a bundle that can’t be fetched ends the setup, with the reason', async () => {
  const gone = await ran('gone', ['team/nothing@v9'], [])
  expect(gone).toMatchObject({ status: 'failed', error: { code: 'bundle_failed' } })
  expect(gone.error?.detail).toContain("Can't fetch the bundle team/nothing@v9")
  const events = eventsOf(place.home, gone.id).map(({ event }) => event)
  expect(events.find(({ event_type: type }) => type === 'platform.setup.failed')?.data).toMatchObject({
    stage: 'team/nothing@v9',
  })
  const dir = join(base, 'out')
  mkdirSync(dir)
  symlinkSync('/etc', join(dir, 'etc'))
  const out = await ran('out', ['./etc'], [])
  expect(out.error?.detail).toContain('it leads out of the directory of the resolver')
})

// verifies: S-MAN-16
test('a bundle that the resolver names is opened by the token of the git host; what another bundle includes is not', async () => {
  const token = 'secret-of-the-forge'
  const own = await openUpstream({ token })
  try {
    own.create('team/secret', { 'skills/hush/SKILL.md': skill('hush', 'Say nothing.') })
    const bundle = 'includes: [team/secret]\nbundle: { name: nosy }\n'
    own.create('team/nosy', { 'bundle.yaml': bundle, 'skills/look/SKILL.md': skill('look', 'Look.') })
    const env = { ...hostOf(own), RESOLVE_GIT_HOST_TOKEN: token }
    const calls: [string, Record<string, unknown>][] = [['skill', { name: 'hush' }]]
    const named = await ran('keeper', ['team/secret'], calls, { env })
    expect(named.results[0]).toContain('Say nothing.')
    expect(JSON.stringify(eventsOf(place.home, named.id))).not.toContain(token)

    // It is in the home now, and still not given to a bundle that names it.
    const nosy = await ran('nosy', ['team/nosy'], [['skill', { name: 'look' }], ...calls], { env })
    expect(nosy.results[0]).toContain('Look.')
    expect(nosy.results[1]).not.toContain('Say nothing.')
    expect(nosy.warnings['bundle_faulty']).toContain('team/secret is not included')

    const without = await ran('stranger', ['team/secret#subdirectory=skills'], calls, { env: hostOf(own) })
    expect(without.results[0]).toContain('Say nothing.')
    expect((await ran('no-token', ['team/nosy@main'], [], { env: hostOf(own) })).error?.code).toBe('bundle_failed')
  } finally {
    await own.close()
  }
}, 60_000)

// verifies: S-MAN-16
test('a resumed instance keeps the commits of its bundles; git prune leaves them, and removes what no instance uses', async () => {
  upstream.create('team/moving', { 'skills/step/SKILL.md': skill('step', 'Step one.') })
  const first = upstream.git('team/moving', 'rev-parse', 'main')
  const calls: [string, Record<string, unknown>][] = [['skill', { name: 'step' }]]
  const waiting = await ran('mover', ['team/moving@main'], calls, { options: { pauses: true } })
  expect(waiting).toMatchObject({ status: 'paused', bundles: [{ ref: 'main', commit: first }] })
  const shown = await place.run('instance', 'show', waiting.id)
  expect(shown.stdout).toContain(`at ${first.slice(0, 12)}`)

  const second = upstream.commit('team/moving', { 'skills/step/SKILL.md': skill('step', 'Step two.') })
  expect((await again('mover')).results[0]).toContain('Step two.')

  const prune = ['git', 'prune', '--older-than', '0s', '--json']
  const commitsOf = ({ stdout }: { stdout: string }) =>
    (JSON.parse(stdout) as { removed: { kind: string; url: string; commit?: string }[] }).removed
      .filter(({ kind, url }) => kind === 'bundle' && url.endsWith('team/moving.git'))
      .map(({ commit }) => commit)
  const told = await place.run('git', 'prune', '--older-than', '0s', '--dry-run')
  expect(told.stdout).toMatch(new RegExp(`^bundle \\S*team/moving\\.git at ${second.slice(0, 12)}  \\d`, 'm'))
  expect(told.stderr).toMatch(/^Would remove \d+ bundles? \(/m)
  expect(commitsOf(await place.run(...prune, '--dry-run'))).toEqual([second])
  expect(commitsOf(await place.run(...prune))).toEqual([second])

  const resumed = await place.with({ env: hostOf(upstream) }, 'instance', 'resume', waiting.id, '--json')
  expect(toRan(resumed.stdout)).toMatchObject({ status: 'completed', results: [expect.stringContaining('Step one.')] })
  expect(commitsOf(await place.run(...prune))).toEqual([first])
  expect((await again('mover')).results[0]).toContain('Step two.')
}, 60_000)
