/**
 * The bare counterpart of `instance run` for the start part: starts a resolver, sends initialize and run, and waits for its
 * end. Argument: the resolver's program.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const directory = mkdtempSync(join(tmpdir(), 'resolve-bare-'))
const child = spawn(process.execPath, [process.argv[2]], {
  stdio: ['pipe', 'pipe', 'inherit'],
  env: { PATH: process.env.PATH, RESOLVE_DIR: directory, RESOLVE_CHANNEL: '1' },
})
const say = (frame) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`)
const config = { instance_id: 'bare', resolver_name: 'hello', params: { name: 'Ada' }, resolve_path: directory }

let rest = ''
child.stdout.setEncoding('utf8').on('data', (text) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop()
  for (const line of lines) {
    const frame = JSON.parse(line)
    if (frame.id === 1) say({ id: 2, method: 'resolver.run', params: { resume: false } })
    if (frame.method === 'resolver.finished') {
      console.log(JSON.stringify(frame.params.result))
      say({ method: 'resolver.shutdown' })
    }
  }
})
child.on('exit', () => rmSync(directory, { recursive: true, force: true }))
say({ id: 1, method: 'resolver.initialize', params: { config, epoch: 1 } })
