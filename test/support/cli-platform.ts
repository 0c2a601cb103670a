/**
 * A platform made of spawned commands of the built program, each with `--json`: what the contract asks of a platform, asked of
 * the command line. {@link LACKS} says what the command line has no equivalent for.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
import { ResolveError, received } from '../../src/core/errors.ts'
import type { Platform, Story } from '../../src/core/index.ts'
import type { EventEnvelope } from '../../src/core/protocol/event.ts'
import type { Payload } from '../../src/core/protocol/form.ts'
import type { InstanceRecord } from '../../src/core/protocol/instance.ts'
import type { CreationRecord, JournalEvent } from '../../src/core/protocol/journal.ts'
import type { LogLine } from '../../src/core/protocol/log.ts'
import { applyEvent, beginStory } from '../../src/core/view/story.ts'
import type { Door } from '../platform/contract.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'run.js')

export const LACKS = {
  moments: 'a command takes its time, and the instance may have gone on before its document is out',
  pages: 'list has --limit and --all, and no --cursor',
  rename: 'no command renames an instance; --name is given to run',
  messages: 'no command lists the messages that were sent, and none takes a key',
  ensureHost: 'watch and wait ensure a host as they begin; no command does only that',
  leave: 'every command leaves when it ends',
  ranges: 'data prints a file whole',
} as const satisfies Door['lacks']

type Document = Record<string, unknown>

/** Two cores: more at once only wait for each other. A follower holds none of them. */
const AT_ONCE = 2
let running = 0
const waiting: (() => void)[] = []

async function turn<T>(work: () => Promise<T>): Promise<T> {
  while (running >= AT_ONCE) await new Promise<void>((done) => waiting.push(done))
  running += 1
  try {
    return await work()
  } finally {
    running -= 1
    waiting.shift()?.()
  }
}

/** `flags` go with every command: `--server URL`. */
export function cliPlatform(home: string, options: { flags?: string[]; env?: Record<string, string> } = {}): Platform {
  const environment = { ...process.env, CI: '', NO_COLOR: '', RESOLVE_HOME: home, ...options.env }
  const start = (args: string[], input = '') => {
    const words = [program, ...args, ...(options.flags ?? [])]
    const child = spawn(process.execPath, words, { cwd: tmpdir(), env: environment, stdio: ['pipe', 'pipe', 'pipe'] })
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    return child
  }
  const ask = (args: string[], input?: string) =>
    turn(async () => {
      const child = start(args, input)
      const ended = new Promise<number | null>((done) => child.on('exit', done))
      const [stdout, stderr] = await Promise.all([buffer(child.stdout), buffer(child.stderr)])
      return { code: await ended, stdout, stderr: stderr.toString() }
    })
  const document = async (args: string[], payload?: Payload): Promise<Document> => {
    const given = payload === undefined ? [] : ['--input-file', '-']
    const { stdout } = await ask([...args, ...given, '--json'], payload === undefined ? '' : JSON.stringify(payload))
    const told = JSON.parse(stdout.toString()) as Document
    if (told['schema'] === 'resolve.error/1') throw toError(told)
    return told
  }
  const records = async (...args: string[]) =>
    (await document(['instance', 'list', ...args]))['instances'] as InstanceRecord[]

  const platform: Platform = {
    async resolvers() {
      return (await document(['resolver', 'list']))['resolvers'] as never
    },
    async resolver(name) {
      return (await document(['resolver', 'show', name]))['resolver'] as never
    },
    async requireScope() {},
    async addArchive() {
      throw new Error('The command line packs the archive itself.')
    },
    async removeResolver(name) {
      return (await document(['resolver', 'remove', name]))['resolver'] as never
    },
    async schema(name, params) {
      return (await document(['resolver', 'schema', name], params ?? {}))['form'] as never
    },
    async check(name, input) {
      const form = await platform.schema(name, input)
      try {
        await document(['run', name, '--dry-run'], input)
        return { form, errors: [], fields: [] }
      } catch (error) {
        if (!(error instanceof ResolveError) || error.code !== 'form_invalid') throw error
        return { form, errors: [...error.errors], fields: [...error.fields] }
      }
    },
    async prepare(name) {
      await document(['resolver', 'schema', name])
    },
    async create({ resolver, input, name, executor }) {
      const named = typeof name === 'string' ? ['--name', name] : []
      const placed = executor === undefined ? [] : ['--executor', executor]
      const told = await document(['run', resolver, '--detach', ...named, ...placed], input)
      return await platform.record(told['instance_id'] as string)
    },
    async list({ status, resolver, limit } = {}) {
      const found = await document([
        ...['instance', 'list', ...(limit === undefined ? ['--all'] : ['--limit', String(limit)])],
        ...(status === undefined ? [] : ['--status', status.join(',')]),
        ...(resolver === undefined ? [] : ['--resolver', resolver]),
      ])
      return { records: found['instances'] as InstanceRecord[], cursor: found['cursor'] as string | null }
    },
    counts: () => lacking('pages'),
    async find(reference) {
      return (await document(['instance', 'show', reference]))['instance_id'] as string
    },
    async record(id) {
      await platform.find(id)
      return (await records('--all')).find((record) => record.instance_id === id) as InstanceRecord
    },
    rename: () => lacking('rename'),
    edit: () => lacking('rename'),
    retry: () => lacking('rename'),
    async story(id) {
      const shown = await document(['instance', 'show', id])
      const { resolver: name, resolver_version: version, input, timing } = shown
      const creation = {
        instance_id: id,
        input,
        created_at: (timing as Document)['created_at'],
        resolver: { name, version },
      }
      const story = beginStory(creation as unknown as CreationRecord)
      for await (const { seq, event } of platform.events(id)) applyEvent(story, seq, event)
      return story as Story
    },
    ensureHost: () => lacking('ensureHost'),
    async state(id) {
      return (await document(['instance', 'state', id]))['state'] as never
    },
    async *events(id, { after = 0, follow = false, signal } = {}) {
      // An unknown instance has no line to print, and an error document instead.
      const words = ['instance', 'events', id, '--jsonl', '--since', String(after), ...(follow ? ['--follow'] : [])]
      const child = start(words)
      const ended = new Promise<number | null>((done) => child.on('exit', done))
      const stop = () => child.kill('SIGKILL')
      signal?.addEventListener('abort', stop)
      try {
        let seq = after
        for await (const text of createInterface({ input: child.stdout })) {
          const event = JSON.parse(text) as EventEnvelope & Document
          if (event['type'] === 'error') throw toError(event)
          seq += 1
          yield { seq, sourceEnd: null, text, event } satisfies JournalEvent
        }
        await ended
      } finally {
        signal?.removeEventListener('abort', stop)
        stop()
      }
    },
    async hasHost(id) {
      return (await document(['instance', 'explain', id]))['host_alive'] as boolean
    },
    async hostState(id) {
      const { host_alive, host_answers } = await document(['instance', 'explain', id])
      return host_alive !== true ? 'none' : host_answers === false ? 'silent' : 'answers'
    },
    async logs(id) {
      const { lines } = await document(['instance', 'logs', id, '--all'])
      return { lines: lines as LogLine[], next: (lines as LogLine[]).at(-1)?.n ?? 0, ended: true }
    },
    async sessions(id) {
      return (await document(['instance', 'transcript', id]))['sessions'] as never
    },
    async transcript(id, session) {
      return (await document(['instance', 'transcript', id, session])) as never
    },
    async stderrTail(id) {
      return ((await document(['instance', 'explain', id]))['stderr'] as string[]).join('\n')
    },
    async inputRequests(id, status) {
      if (status === 'pending') return (await document(['instance', 'answer', id, '--list']))['input_requests'] as never
      const { requests } = await platform.story(id)
      return requests.filter((one) => status === undefined || one.status === status)
    },
    async answer(id, requestId, payload) {
      await document(['instance', 'answer', id, requestId], payload)
    },
    async messageTypes(id) {
      return (await document(['instance', 'message', id, '--list']))['message_types'] as never
    },
    async message(id, type, payload) {
      return { number: (await document(['instance', 'message', id, type], payload))['number'] as number }
    },
    messages: () => lacking('messages'),
    async pause(id) {
      await document(['instance', 'pause', id])
      return await platform.record(id)
    },
    async resume(id) {
      await document(['instance', 'resume', id, '--detach'])
      return await platform.record(id)
    },
    async stop(id, { reason, force } = {}) {
      const told = reason === undefined ? [] : ['--reason', reason]
      await document(['instance', 'stop', id, ...told, ...(force === true ? ['--force'] : [])])
      return await platform.record(id)
    },
    async cancel(id) {
      await document(['instance', 'cancel', id])
      return await platform.record(id)
    },
    async dataFiles(id) {
      return (await document(['instance', 'data', id]))['files'] as never
    },
    async data(id, path) {
      const { code, stdout, stderr } = await ask(['instance', 'data', id, path])
      // A file is printed as it is; what is wrong is told in the document that --json gives instead.
      if (code !== 0) await document(['instance', 'data', id, path, '-o', join(tmpdir(), 'not-written')])
      if (code !== 0) throw new Error(`data ended with ${code}: ${stderr}`)
      return { bytes: stdout.length, modified_at: '', stream: one(stdout) }
    },
    async export(id) {
      const folder = mkdtempSync(join(tmpdir(), 'resolve-cli-export-'))
      try {
        const told = await document(['instance', 'export', id, '-o', `${folder}/`])
        return one(readFileSync(told['path'] as string))
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
    async prune({ older_than_ms, status, dry_run }) {
      const only = status === undefined ? [] : ['--status', status.join(',')]
      const how = dry_run === true ? '--dry-run' : '--yes'
      return (await document(['instance', 'prune', '--older-than', `${older_than_ms}ms`, ...only, how])) as never
    },
    git: {
      repos: async (id) => (await document(['instance', 'repos', id]))['repos'] as never,
      diff: async (id, repo, { base = 'start', snapshot, path, patch } = {}) => {
        const from = snapshot === undefined ? [] : ['--snapshot', String(snapshot)]
        const how = [...from, ...(path === undefined ? [] : ['--path', path]), ...(patch === true ? ['--patch'] : [])]
        return (await document(['instance', 'diff', id, repo, '--base', base, ...how]))['diff'] as never
      },
      commits: async () => {
        throw new Error('The command line does not list commits.')
      },
      pulls: async () => {
        throw new Error('The command line does not list pull requests.')
      },
      bundle: async () => {
        throw new Error('The command line fetches the bundle itself.')
      },
      promote: async (id, repo, { pr_title, branch, target_branch, dry_run, rebase }) => {
        const flags = [
          ...(pr_title === undefined ? [] : ['--title', pr_title]),
          ...(branch ? ['--branch', branch] : []),
          ...(target_branch ? ['--target', target_branch] : []),
          ...(dry_run === true ? ['--dry-run'] : []),
          ...(rebase === true ? ['--rebase'] : []),
        ]
        return (await document(['instance', 'promote', id, repo, ...flags])) as never
      },
    },
    notify: {
      list: async () => (await document(['notify', 'list']))['targets'] as never,
      add: async ({ name, kind, url }) =>
        (await document(['notify', 'add', name, `--${kind}`, url ?? '']))['target'] as never,
      remove: async (name) => (await document(['notify', 'remove', name]))['target'] as never,
      test: async (name) => (await document(['notify', 'test', name])) as never,
    },
    secrets: {
      list: async () => (await document(['secret', 'list']))['secrets'] as never,
      set: async (name, { text }) => {
        const { stdout } = await ask(['secret', 'set', name, '--json'], text)
        return JSON.parse(stdout.toString()).secret as never
      },
      remove: async (name) => (await document(['secret', 'remove', name]))['secret'] as never,
    },
    schedules: {
      list: async () => (await document(['schedule', 'list']))['schedules'] as never,
      add: async ({ cron, resolver, input, name, timezone, catch_up }) => {
        const words = ['schedule', 'add', cron, resolver, ...(name === undefined ? [] : ['--name', name])]
        const zone = timezone === undefined ? [] : ['--timezone', timezone]
        return (await document([...words, ...zone, '--catch-up', catch_up ?? 'none'], input))['schedule'] as never
      },
      remove: async (name) => (await document(['schedule', 'remove', name]))['schedule'] as never,
      pause: async (name, paused) =>
        (await document(['schedule', paused ? 'pause' : 'resume', name]))['schedule'] as never,
    },
    async health({ fix } = {}) {
      return (await document(['doctor', ...(fix === true ? ['--fix'] : [])]))['checks'] as never
    },
    async leave() {},
    async close() {},
  }
  return platform
}

function lacking(feature: keyof typeof LACKS): never {
  throw new Error(LACKS[feature])
}

async function* one(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

function toError(told: Document): ResolveError {
  const { code, message, hint, fields } = told['error'] as Document & { fields: { id: string; message: string }[] }
  const error = received({ detail: message, code, hint })
  if (error === undefined) throw new Error(`The command line tells an error that is none: ${JSON.stringify(told)}`)
  if (code !== 'form_invalid') return error
  return new ResolveError('form_invalid', { errors: fields.map((field) => field.message), fields })
}
