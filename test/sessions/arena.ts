/** An instance for sessions without a host: its directories, its config, and what its sessions told. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { InstanceConfig } from '../../src/core/protocol/instance.ts'
import type { SessionCompleted, SessionDispatched } from '../../src/core/protocol/session/session.ts'
import type { Session, SessionOptions } from '../../src/sessions/contract/contract.ts'
import { Sessions, type SessionsOptions } from '../../src/sessions/main.ts'
import type { Line, LineType } from '../../src/sessions/transcript/lines.ts'

export const KEY = 'sk-canary-0123456789abcdef'

export interface Arena {
  dir: string
  workspace: string
  config: InstanceConfig
  dispatched: SessionDispatched[]
  completed: SessionCompleted[]
  stop: AbortController
  /** Opens the sessions as a process does that begins, or begins again. */
  open(more?: Partial<SessionsOptions>): Sessions
  create(name: string, options?: SessionOptions): Promise<Session>
  lines(id: string): Line[]
  linesOf<T extends LineType>(id: string, type: T): Extract<Line, { type: T }>[]
}

export const FAST = { retryMs: 5, firstChunkMs: 30_000, chunkMs: 30_000 }

export function arena(llm: { model: string; base_url: string }, key = KEY): Arena {
  const project = mkdtempSync(join(tmpdir(), 'resolve-sessions-'))
  const [dir, workspace] = [join(project, '.resolve'), join(project, 'workspace')]
  mkdirSync(dir)
  mkdirSync(workspace)
  const config: InstanceConfig = {
    instance_id: '0123456789ab',
    resolver_name: 'test',
    params: {},
    workspace_path: workspace,
    project_path: project,
    resolve_path: dir,
    git_provider: { type: '', base_url: '', token: '' },
    credentials: { llm_provider_api_key: key, git_host_token: '' },
    llm,
    sub_container_token: '',
    capabilities: [],
  }
  const [dispatched, completed]: [SessionDispatched[], SessionCompleted[]] = [[], []]
  const stop = new AbortController()
  let sessions: Sessions | undefined
  onTestFinished(async () => {
    stop.abort(new Error('the test is over'))
    rmSync(project, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  })
  const arena: Arena = {
    ...{ dir, workspace, config, dispatched, completed, stop },
    open: (more = {}) => {
      sessions = new Sessions({
        ...{ config, dir, signal: stop.signal, pace: FAST },
        tellDispatched: (data) => dispatched.push(data),
        tellCompleted: (data) => completed.push(data),
        ...more,
      })
      return sessions
    },
    create: (name, options) => (sessions ?? arena.open()).create(name, options),
    lines: (id) =>
      readFileSync(join(dir, 'sessions', id, 'transcript.jsonl'), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Line),
    linesOf: (id, type) => arena.lines(id).filter((line) => line.type === type) as never,
  }
  return arena
}
