/** The modes of the evil resolver (reliability, The evil resolver), how each is driven, and how its run must end; both executors run this one table. */
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { containersOf, docker } from './docker.ts'
import type { Arena, Loose } from './evil-arena.ts'
import { eventsOf } from './instances.ts'
import type { Held } from './invariants-host.ts'

export interface EvilMode {
  mode: string
  /** Default: it is left alone. */
  act?: (loose: Loose, arena: Arena) => Promise<void>
  /** How it ends: its status, then the code of its error; several where its own race decides. Default: completed. */
  ends?: string | readonly string[]
  /** The reasons for which its lines are refused, in order; default none. */
  rejected?: readonly string[]
  /** What an API answers that does not even create it. */
  refusal?: string
  /** Events that must be in the journal beside those of every run. */
  says?: readonly string[]
  /** What a mode must show beyond that. */
  also?: (loose: { id: string; output: string | null }, arena: Arena) => void
  /** How much more than before the host may hold meanwhile, where that is less than anywhere. */
  limits?: Partial<Held>
  /** What it costs is measured, so nothing else goes on meanwhile. */
  isAlone?: boolean
  /** What it does is bounded by its container alone. */
  only?: 'docker'
}

type Act = (loose: Loose) => Promise<void>

const stop: Act = async ({ call }) => void (await call('POST', '/stop', { reason: 'enough' }))
const kill: Act = async ({ call }) => void (await call('POST', '/stop', { reason: 'enough', force: true }))
const answer: Act = async ({ call, is }) => {
  await is('awaiting_input')
  await call('POST', '/input-requests/q', { a: 1 })
}
const tell: Act = async ({ call, said }) => {
  await said('evil.up')
  await call('POST', '/messages', { message_type: 'note', payload: { text: 'go' } })
}
const after =
  (type: string, ...acts: Act[]): Act =>
  async (loose) => {
    await loose.said(type)
    for (const act of acts) await act(loose)
  }
const inOrder =
  (...acts: Act[]): Act =>
  async (loose) => {
    for (const act of acts) await act(loose)
  }
const refused =
  (reason: string): Act =>
  (loose) =>
    loose.refused(reason)
const launched = 'platform.worker.launched'
const pause =
  (ms: number): Act =>
  () =>
    sleep(ms)

/** What a consumer would look at, while it lies there. */
const look: Act = async ({ call }) => {
  for (const part of ['/state', '/data', '/message-types', '/input-requests', '/story']) await call('GET', part)
}

/** The record, the state and a file, again and again while they are swapped for links. */
const readOn: Act = async ({ call, said }) => {
  await said('evil.up')
  for (const until = Date.now() + 2_000; Date.now() < until; ) {
    for (const part of ['/state', '/data/x/secret.json', '/data']) await call('GET', part)
  }
}

export const evilModes: readonly EvilMode[] = [
  { mode: 'crash@getInstantiationSchema', refusal: 'resolver_gone' },
  { mode: 'crash@getWorkspaceSpec', refusal: 'resolver_gone' },
  { mode: 'hang@getInstantiationSchema', refusal: 'resolver_silent' },
  { mode: 'hang@getWorkspaceSpec', refusal: 'resolver_silent' },
  { mode: 'crash@initialize', ends: 'failed worker_exited' },
  { mode: 'crash@run', ends: 'failed worker_exited' },
  { mode: 'crash@stop', act: after('evil.up', stop), ends: 'cancelled' },
  { mode: 'crash@inputResponse', act: answer, ends: 'failed worker_exited' },
  { mode: 'crash@message', act: tell, ends: 'failed worker_exited' },
  { mode: 'crash@getMessageTypes', act: tell, ends: 'failed worker_exited' },
  { mode: 'crash@shutdown' },
  { mode: 'hang@initialize', act: after(launched, stop, pause(300), kill), ends: 'cancelled' },
  { mode: 'hang@run', act: after('platform.worker.ready', pause(300), kill), ends: 'cancelled' },
  { mode: 'hang@stop', act: after('evil.up', stop, pause(300), kill), ends: 'cancelled' },
  { mode: 'hang@inputResponse', act: inOrder(answer, pause(300), kill), ends: 'cancelled' },
  { mode: 'hang@message', act: inOrder(tell, kill), ends: 'cancelled' },
  { mode: 'hang@getMessageTypes', act: inOrder(tell, kill), ends: 'cancelled' },
  { mode: 'hang@shutdown' },
  { mode: 'slow@initialize' },
  { mode: 'slow@run' },
  { mode: 'slow@stop', act: after('evil.up', stop) },
  { mode: 'slow@inputResponse', act: answer },
  { mode: 'slow@message', act: tell },
  { mode: 'slow@getMessageTypes', act: tell },
  { mode: 'slow@shutdown' },
  { mode: 'slow@getInstantiationSchema' },
  { mode: 'slow@getWorkspaceSpec' },
  { mode: 'leave@getInstantiationSchema', refusal: 'resolver_gone' },
  { mode: 'leave@getWorkspaceSpec' },
  { mode: 'leave@initialize', ends: 'failed worker_exited' },
  { mode: 'leave@run', ends: 'failed worker_exited' },
  { mode: 'leave@stop', act: after('evil.up', stop), ends: 'cancelled' },
  { mode: 'leave@inputResponse', act: answer, ends: 'failed worker_exited' },
  { mode: 'leave@message', act: tell, ends: 'failed worker_exited' },
  { mode: 'leave@getMessageTypes', act: tell, ends: 'failed worker_exited' },
  { mode: 'garbage-stdout' },
  { mode: 'garbage-flood', ends: 'failed protocol_error' },
  { mode: 'huge-line', rejected: ['too_long'], says: ['evil.good'] },
  {
    mode: 'deep-json',
    act: after('evil.good', look, refused('input_request'), stop),
    rejected: ['too_deep', 'not_an_object', 'input_request'],
    says: ['evil.deep', 'evil.good'],
  },
  {
    mode: 'bad-utf8',
    act: inOrder(refused('input_request'), stop),
    rejected: ['not_utf8', 'input_request'],
    says: ['evil.good'],
  },
  { mode: 'cr-json', says: ['evil.cr', 'evil.good'] },
  {
    mode: 'forged-platform',
    rejected: ['platform_prefix', 'foreign_instance', 'done_marker'],
    says: ['evil.good'],
  },
  { mode: 'partial-line', rejected: ['unfinished'], says: ['evil.halves', 'evil.good'] },
  {
    mode: 'truncate-events',
    act: inOrder(refused('source_reset'), stop),
    rejected: ['source_reset'],
    says: ['evil.before', 'evil.good'],
  },
  {
    mode: 'rotate-events',
    act: inOrder(refused('source_reset'), stop),
    rejected: ['source_reset'],
    says: ['evil.before', 'evil.good'],
  },
  { mode: 'fifo-everything', ends: 'failed worker_exited', rejected: ['coordination_tampered', 'input_request'] },
  {
    mode: 'symlink-farm',
    act: after('evil.planted', look, stop),
    rejected: ['coordination_tampered', 'input_request', 'source_reset'],
  },
  { mode: 'race-swap', act: inOrder(readOn, stop), ends: 'cancelled' },
  { mode: 'mknod', says: ['evil.made'] },
  { mode: 'sparse', act: after('evil.planted', look, stop) },
  {
    mode: 'sparse-events',
    // As long as a host needs to look at the file at least once.
    act: inOrder(after('evil.up', pause(2_000), stop)),
    ends: 'cancelled',
    rejected: ['unfinished'],
  },
  { mode: 'disk-fill', says: ['evil.filled'] },
  { mode: 'fork-bomb', act: after('evil.forked', kill), ends: 'cancelled', only: 'docker' },
  { mode: 'ignore-term', act: after('evil.deaf', stop, pause(300), kill), ends: 'cancelled' },
  // Whatever it had said last when it was heard, and one end only.
  { mode: 'double-complete', ends: ['completed', 'failed two'] },
  { mode: 'complete-on-stop', act: after('evil.up', stop), also: ({ output }) => expect(output).toBe('after all') },
  { mode: 'inotify-exhaust', act: after('evil.exhausted', tell), only: 'docker' },
  {
    mode: 'two-requests',
    act: async ({ call, is }) => {
      await is('awaiting_input')
      const pending = async () => (await call('GET', '/input-requests?status=pending')).body as unknown[]
      while ((await pending()).length < 2) await sleep(20)
      await call('POST', '/input-requests/r', { two: 2 })
      await call('POST', '/input-requests/r', { two: 3 })
      await call('POST', '/input-requests/q', { one: 1 })
    },
    also: ({ output }) => expect(output).toBe('[{"one":1},{"two":2}]'),
  },
  {
    mode: 'reuse-rid',
    act: answer,
    also: ({ id }, { home }) => {
      const asked = eventsOf(home, id).filter(({ event }) => event.event_type === 'platform.input.requested')
      expect(asked).toHaveLength(1)
    },
  },
  {
    mode: 'secret-echo',
    act: async (loose) => {
      await loose.is('awaiting_input')
      for (const part of ['/message-types', '/state', '/input-requests', '/stderr']) await loose.call('GET', part)
      await answer(loose)
    },
    ends: 'failed resolver_failed',
    rejected: ['input_request'],
    also: ({ output }) => expect(output).toContain('[redacted]'),
  },
  {
    mode: '10k-events/s',
    also: ({ id }, { home }) => {
      const ticks = eventsOf(home, id).filter(({ event }) => event.event_type === 'evil.tick')
      expect(ticks).toHaveLength(20_000)
    },
  },
  { mode: 'forged-replies' },
  { mode: 'notification-flood', says: ['evil.good'] },
  { mode: 'form-bomb', refusal: 'form_malformed' },
  {
    mode: 'schema-bombs',
    act: async ({ call, is, said }) => {
      await said('evil.asked')
      await is('awaiting_input')
      // Every message that fails, in order; what costs too much fails.
      for (const a of ['', `${'a'.repeat(40)}!`, 'b', 'a']) {
        const { status } = await call('POST', '/input-requests/q', { a, b: 'x'.repeat(50) })
        expect(status).toBe(422)
      }
      await call('POST', '/stop', { reason: 'enough' })
    },
    ends: ['cancelled', 'completed'],
    rejected: ['input_request'],
  },
  {
    mode: 'odd-names',
    act: after('evil.named', look, stop),
    rejected: ['input_request'],
  },
  { mode: 'many-files', act: after('evil.filled', look, stop), rejected: ['input_request'] },
  { mode: 'poison-keys', says: ['evil.keys', 'evil.twice', 'evil.good'] },
  {
    mode: 'endless-line',
    act: after('evil.good', tell),
    rejected: ['too_long'],
    says: ['evil.good'],
    isAlone: true,
    // Buffers that wait for the collector, and nothing that grows with the line.
    limits: { rssBytes: 128 * 1024 * 1024 },
  },
  {
    mode: 'setuid',
    // Another user cannot even reach it.
    also: ({ id }, { home }) => expect(statSync(instancePaths(home, id).root).mode & 0o077).toBe(0),
  },
  { mode: 'hard-link' },
  { mode: 'planted-response', act: answer, also: ({ output }) => expect(output).toBe('{"a":1}') },
  { mode: 'env-echo', says: ['evil.environment'] },
  { mode: 'escapes', act: answer },
  { mode: 'many-directories', act: after('evil.filled', look, stop) },
  {
    mode: 'deep-tree',
    act: after('evil.filled', look, stop),
    // Its paths are too long for a test that removes its home.
    also: ({ id }, { home }) => {
      const { status } = spawnSync('rm', ['-rf', join(instancePaths(home, id).project, '.resolve/data')])
      expect(status).toBe(0)
    },
  },
  {
    mode: 'odd-request-ids',
    act: inOrder(refused('input_request'), look, stop),
    rejected: ['input_request'],
    says: ['evil.asked'],
  },
  {
    mode: 'hostile-state',
    act: after('evil.planted', async ({ call }) => {
      for (const part of ['', '/state']) {
        const { status } = (await call('GET', part)).body as { status: string }
        expect(status).toBe('running')
      }
      await look({ call } as Loose)
      await call('POST', '/stop', { reason: 'enough' })
    }),
  },
  { mode: 'odd-times', says: ['evil.odd', 'evil.sixth', 'evil.good'] },
  {
    mode: 'foreign-prefix',
    says: ['hello.tick', 'evil.good'],
    also: ({ id }, { home }) => {
      const warnings = eventsOf(home, id).filter(({ event }) => event.data['kind'] === 'foreign_prefix')
      expect(warnings).toHaveLength(1)
    },
  },
  {
    mode: 'log-flood',
    act: after('evil.good', async ({ call }) => void (await call('GET', '/logs')), look, stop),
    says: ['evil.good'],
  },
  {
    mode: 'rewrite-history',
    act: tell,
    only: 'docker',
    also: ({ output }) => expect(JSON.parse(output as string)).toMatchObject({ rewrite: 'EROFS', remove: 'EROFS' }),
  },
]

/** The limit of memory is lowered under the running worker: this machine need not have 8 GiB to lose. */
const starve: EvilMode['act'] = async ({ id, said, call }) => {
  await said('evil.up')
  const [container] = await containersOf(id)
  await docker('update', '--memory', '200m', '--memory-swap', '200m', container as string)
  await call('POST', '/messages', { message_type: 'note', payload: { text: 'go' } })
}

export const modesOfContainers: readonly EvilMode[] = [
  { mode: 'oom-child', act: starve, only: 'docker', also: ({ output }) => expect(output).toBe('SIGKILL') },
  { mode: 'oom-main', act: starve, only: 'docker', ends: 'failed out_of_memory' },
]

/** Runs one mode and holds it to its line of the table. */
export async function endure(arena: Arena, evil: EvilMode): Promise<void> {
  const { mode, act = async () => {}, ends = 'completed', rejected = [], says = [], refusal, limits, also } = evil
  const record = await arena.run(mode, (loose) => act(loose, arena), { refusal, limits })
  if (record === undefined) return
  const { instance_id: id, status, error, output } = record
  expect([ends].flat()).toContain([status, error?.code].filter(Boolean).join(' '))
  const events = eventsOf(arena.home, id).map(({ event }) => event)
  const reasons = events
    .filter((event) => event.event_type === 'platform.event.rejected')
    .map(({ data }) => data['reason'])
  expect([...new Set(reasons)].sort()).toEqual([...rejected].sort())
  expect(events.map((event) => event.event_type)).toEqual(expect.arrayContaining([...says]))
  also?.({ id, output }, arena)
}
