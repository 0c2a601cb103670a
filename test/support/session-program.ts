/**
 * A process with one session that kills itself after a number of lines of its transcript: `program DIR URL LINES`. LINES 0 lets it end. Prints
 * the answers as JSON.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const [dir = '', url = '', lines = '0'] = process.argv.slice(2)
let left = Number(lines)
const write = fs.writeSync
// A line is one write of text that ends with LF; a kill comes right after it, before anything follows from it.
fs.writeSync = ((fd: number, bytes: NodeJS.ArrayBufferView, ...rest: number[]) => {
  const written = write(fd, bytes, ...rest)
  if (Buffer.isBuffer(bytes) && bytes.toString('latin1', 0, 7) === '{"seq":') {
    left -= 1
    if (left === 0) process.kill(process.pid, 'SIGKILL')
  }
  return written
}) as typeof fs.writeSync
syncBuiltinESMExports()

const { Sessions } = await import('../../src/sessions/main.ts')
const project = dir.slice(0, dir.lastIndexOf('/'))
const told: unknown[] = []
const sessions = new Sessions({
  config: {
    instance_id: '0123456789ab',
    resolver_name: 'test',
    params: {},
    workspace_path: `${project}/workspace`,
    project_path: project,
    resolve_path: dir,
    git_provider: { type: '', base_url: '', token: '' },
    credentials: { llm_provider_api_key: 'sk-canary-0123456789', git_host_token: '' },
    llm: { model: 'anthropic/test', base_url: url },
    sub_container_token: '',
    capabilities: [],
  },
  dir,
  signal: new AbortController().signal,
  tellDispatched: ({ turn }) => told.push(`dispatched ${turn}`),
  tellCompleted: ({ turn, success }) => told.push(`completed ${turn} ${success}`),
})
const session = await sessions.create('work')
const first = await session.run('Do it.')
const second = await session.run('Again.')
process.stdout.write(
  JSON.stringify({ outputs: [first.output, second.output], steps: [first.steps, second.steps], told }),
)
