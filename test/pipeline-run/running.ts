/** Runs pipelines through the command line, as a person would, in a home of their own. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import type { Story } from '../../src/core/index.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { type Home, newHome } from '../commands/cli.ts'
import { eventsOf, until } from '../support/instances.ts'

export interface Ran {
  id: string
  code: number | null
  /** Of the instance. */
  status: string
  output: string | null
  error: { message: string } | null
  visited: string[]
  context: Record<string, unknown>
  questions: string[]
  passed_over: { node_id: string; reason: string }[]
  reason?: string
  stderr: string
}

export interface NodeState {
  status: string
  label: string
  handler: string
  visits: number
  attempts: number
  reason?: string
  sessions?: string[]
  dirs?: string[]
}

export interface Bench {
  place: Home
  folder: string
  write(files: Readonly<Record<string, string>>): void
  /** `env` goes with the command and the host that it starts. */
  run(graph: string, ...words: string[]): Promise<Ran>
  with(env: Record<string, string>, graph: string, ...words: string[]): Promise<Ran>
  /** Begins it and returns its id at once. */
  begin(graph: string, ...words: string[]): Promise<string>
  /** Until it ends or asks another question than the one that was answered: its status, and its result. */
  followed(id: string, answered?: string): Promise<Record<string, unknown>>
  result(id: string): Record<string, unknown>
  data(id: string, path: string): string
  workspace(id: string): string
  nodes(id: string): Record<string, NodeState>
  /** Its own events, without the name of the resolver. */
  events(id: string, ...names: string[]): { name: string; data: Record<string, unknown> }[]
  end(): Promise<void>
}

export function newBench(): Bench {
  const place = newHome()
  const folder = mkdtempSync(join(tmpdir(), 'resolve-pipeline-run-'))
  const projectOf = (id: string) => instancePaths(place.home, id).project
  const bench: Bench = {
    place,
    folder,
    write(files) {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true })
        writeFileSync(join(folder, path), text)
      }
    },
    run: (graph, ...words) => bench.with({}, graph, ...words),
    async with(env, graph, ...words) {
      bench.write({ 'main.dot': graph })
      const given = ['pipeline', 'run', 'main.dot', '--json', '--on-input', 'leave', ...words]
      return documentOf(await place.with({ env: { ...NO_MODEL, ...env }, cwd: folder }, ...given))
    },
    async begin(graph, ...words) {
      bench.write({ 'main.dot': graph })
      const told = await place.with(
        { env: NO_MODEL, cwd: folder },
        ...['pipeline', 'run', 'main.dot', '--detach', '--json', ...words],
      )
      expect(told.code, told.stderr).toBe(0)
      return (JSON.parse(told.stdout) as { instance_id: string }).instance_id
    },
    async followed(id, answered) {
      const isOver = ({ status, requests }: Story) =>
        status === 'awaiting_input'
          ? requests.some((one) => one.status === 'pending' && one.id !== answered)
          : !UNDER_WAY.includes(status)
      const { status } = await until(place.home, id, isOver)
      return { status, ...(status === 'awaiting_input' ? {} : { ...bench.result(id), status }) }
    },
    result: (id) => JSON.parse(bench.data(id, 'result.json')) as Record<string, unknown>,
    data: (id, path) => readFileSync(join(projectOf(id), '.resolve', 'data', path), 'utf8'),
    workspace: (id) => join(projectOf(id), 'workspace'),
    nodes(id) {
      const state = JSON.parse(readFileSync(join(projectOf(id), '.resolve', 'state.json'), 'utf8')) as {
        nodes: Record<string, NodeState>
      }
      return state.nodes
    },
    events(id, ...names) {
      return eventsOf(place.home, id).flatMap(({ event: { event_type: type, data } }) => {
        const name = /(?:^|\.)pipeline\.([a-z_]+)$/.exec(type)?.[1]
        return name === undefined || (names.length > 0 && !names.includes(name)) ? [] : [{ name, data }]
      })
    },
    async end() {
      await place.end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return bench
}

const UNDER_WAY: readonly string[] = ['created', 'starting', 'running']

/** A run with a script or of commands alone needs neither. */
const NO_MODEL = { RESOLVE_LLM_PROVIDER_API_KEY: '', RESOLVE_LLM_MODEL: '', RESOLVE_LLM_BASE_URL: '' }

function documentOf({ stdout, stderr, code }: { stdout: string; stderr: string; code: number | null }): Ran {
  const { instance_id: id, ...ran } = JSON.parse(stdout) as Omit<Ran, 'id' | 'code' | 'stderr'> & {
    instance_id: string
  }
  return { id, ...ran, code, stderr }
}

/** `replies` by node. */
export function scriptOf(replies: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ version: 1, replies })
}
