/** Runs the built program as a person, a script or CI would, against a home of its own. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'vitest'
import { openLocalPlatform, ResolveError } from '../../src/core/index.ts'
import { awaitStatus, untilTerminal } from '../../src/terminal/command/await-status.ts'
import { plainResolver } from '../support/plain-resolver.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'run.js')

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface Started {
  pid: number
  kill(signal: NodeJS.Signals): void
  /** Resolves once stderr, or stdout, has said it. */
  said(part: string | RegExp): Promise<void>
  ended: Promise<Ended>
}

export interface Home {
  home: string
  run(...args: string[]): Promise<Ended>
  with(options: { env?: Record<string, string>; stdin?: string; cwd?: string }, ...args: string[]): Promise<Ended>
  start(env: Record<string, string>, ...args: string[]): Started
  /** Resolves once the instance has this status: a command that leaves one may leave it before it runs. */
  reaches(id: string, status: string): Promise<void>
  /** Ends every instance that still lives, and removes the home: nothing of a test outlives it. */
  end(): Promise<void>
}

export function newHome(): Home {
  const home = join(mkdtempSync(join(tmpdir(), 'resolve-cli-')), 'home')
  const start = (env: Record<string, string>, args: string[], stdin = '', cwd = tmpdir()): Started => {
    // CI decides what a signal means: only a test that says so runs in it.
    const environment = {
      ...process.env,
      CI: '',
      GITHUB_ACTIONS: '',
      NO_COLOR: '',
      FORCE_COLOR: '',
      RESOLVE_HOME: home,
      ...env,
    }
    const child = spawn(process.execPath, [program, ...args], {
      cwd,
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    child.stdin.on('error', () => {})
    child.stdin.end(stdin)
    let heard = ''
    const waiting: (() => void)[] = []
    const hear = (bytes: Buffer) => {
      heard += bytes.toString()
      for (const wake of waiting) wake()
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    const out = [text(child.stdout), text(child.stderr)] as const
    const exited = new Promise<number | null>((done) => child.on('exit', done))
    return {
      pid: child.pid ?? 0,
      kill: (signal) => child.kill(signal),
      said: (part) =>
        new Promise((done) => {
          const look = () => {
            if (typeof part === 'string' ? heard.includes(part) : part.test(heard)) done()
          }
          waiting.push(look)
          look()
        }),
      ended: (async () => ({ code: await exited, stdout: await out[0], stderr: await out[1] }))(),
    }
  }
  return {
    home,
    run: (...args) => start({}, args).ended,
    with: (options, ...args) => start(options.env ?? {}, args, options.stdin, options.cwd).ended,
    start: (env, ...args) => start(env, args),
    async reaches(id, status) {
      const look = async () => {
        const { stdout } = await start({}, ['instance', 'show', id, '--json']).ended
        return (JSON.parse(stdout) as { status: string }).status
      }
      await expect.poll(look).toBe(status)
    },
    async end() {
      const platform = await openLocalPlatform({
        home,
        builtins: join(import.meta.dirname, '..', '..', 'dist', 'resolvers'),
      })
      const { records } = await platform.list({
        status: ['created', 'starting', 'running', 'awaiting_input', 'paused'],
      })
      await Promise.all(
        records.map(async ({ instance_id: id }) => {
          // One that ended by itself since the list was made has ended.
          await platform.stop(id, { force: true }).catch((error: unknown) => {
            if (!(error instanceof ResolveError) || error.code !== 'invalid_state') throw error
          })
          await awaitStatus(platform, id, untilTerminal, AbortSignal.timeout(10_000))
        }),
      )
      await platform.close()
      rmSync(dirname(home), { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
    },
  }
}

/** The time that `__complete` has (src/commands/complete.ts). */
export const COMPLETION_LIMIT_MS = 1_500

/** A suggestion that takes longer is dropped, because the shell waits for it: TAB is pressed again then. */
export async function inTime(complete: () => Promise<Ended>): Promise<Ended> {
  for (;;) {
    const began = performance.now()
    const ended = await complete()
    if (ended.stdout !== '' || performance.now() - began < COMPLETION_LIMIT_MS) return ended
  }
}

/** A resolver that does what its input says: complete, fail, pause, ask, sleep. Its form has a field of each kind. */
export function doer(): string {
  const optional = (id: string, check: object) => ({
    call: 'or',
    args: {
      conditions: [{ call: 'not', args: { condition: { call: 'required', args: [{ path: `/${id}` }] } } }, check],
    },
  })
  const form = {
    type: 'form',
    components: [
      {
        id: 'do',
        type: 'text',
        checks: [{ condition: { call: 'required', args: [{ path: '/do' }] }, message: 'Say what to do.' }],
      },
      {
        id: 'count',
        type: 'text',
        checks: [
          {
            condition: optional('count', { call: 'numeric', args: { value: { path: '/count' } } }),
            message: 'Count is a number.',
          },
          {
            condition: optional('count', { call: 'length', args: { value: { path: '/count' }, max: 3 } }),
            message: 'Count has 3 digits at most.',
          },
        ],
      },
      { id: 'loud', type: 'checkbox', default: false },
    ],
  }
  const answer = {
    type: 'form',
    components: [
      {
        id: 'go',
        type: 'select',
        options: [
          { value: 'yes', label: 'Yes' },
          { value: 'no', label: 'No' },
        ],
        default: 'yes',
      },
      {
        id: 'why',
        type: 'text',
        checks: [{ condition: { call: 'required', args: [{ path: '/why' }] }, message: 'Say why.' }],
      },
    ],
  }
  const behaviour = `
    const what = me.params.do
    me.emit('resolver:phase', { name: 'doing' })
    if (what === 'fail') return me.finish({ status: 'failed', error: 'It broke \\u001b[31mbadly' })
    if (what === 'pause' && !me.resume) return me.finish({ status: 'paused' })
    if (what === 'hostile') return me.finish({ status: 'completed', output: 'safe \\u001b]0;owned\\u0007text' })
    if (what === 'sleep') {
      const reason = await me.stopped
      return me.finish(reason === 'pause_requested' ? { status: 'paused' } : { status: 'cancelled' })
    }
    if (what === 'data') {
      fs.mkdirSync(root + '/data/deep', { recursive: true })
      fs.writeFileSync(root + '/data/deep/report.md', '# Report\\n')
      fs.writeFileSync(root + '/data/raw.bin', Buffer.from([0, 255, 10]))
      write('state.json', JSON.stringify({ phase: 'doing', plan: [{ title: 'first' }] }))
      me.emit('doer.data_changed', { paths: ['deep/report.md', 'raw.bin'] })
      me.emit('resolver:artifact', { kind: 'summary', value: 'All is well' })
    }
    if (what === 'ask' || what === 'ask-twice') {
      const form = ${JSON.stringify(answer)}
      const asked = [me.ask('gate-1', 'Go on?', form)]
      if (what === 'ask-twice') asked.push(me.ask('gate-2', 'And then?', form))
      const answers = await Promise.race([Promise.all(asked), me.stopped])
      if (!Array.isArray(answers)) return me.finish({ status: 'cancelled' })
      const [first] = answers
      return me.finish({ status: 'completed', output: 'went on: ' + first.go + ' because ' + first.why })
    }
    me.finish({ status: 'completed', output: 'did ' + what + (me.params.loud === true ? '!' : '') })
  `
  const setup = `me.on['resolver.getInstantiationSchema'] = () => (${JSON.stringify(form)})`
  return plainResolver(behaviour, { name: 'doer', supports_resume: true }, setup).dir
}

export function lastLine(out: string): Record<string, unknown> {
  return JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>
}
