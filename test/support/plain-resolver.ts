/** Makes resolvers for tests: a folder with a manifest and a program of a few lines that speaks the bare protocol, no SDK. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface PlainResolver {
  dir: string
  name: string
}

/**
 * `behaviour` is the body of an async function called at `resolver.run`; in reach: `me` with `config`, `resume`, `params`,
 * `emit(type, data)`, `finish(result)`, `ask(id, prompt, schema)`, `answered(id)`, `stopped` (a promise of the reason),
 * `on` (handlers by method, to be replaced), `fs`, `write(path, text)`, `print(text)`, `sleep(ms)`.
 */
export function plainResolver(behaviour: string, manifest: Record<string, unknown> = {}, setup = ''): PlainResolver {
  const dir = mkdtempSync(join(tmpdir(), 'resolve-plain-'))
  const name = (manifest['name'] as string) ?? 'plain'
  const command = ['node', 'program.mjs']
  const whole = { name, version: '1.0.0', description: 'A resolver of a test', command, ...manifest }
  writeFileSync(join(dir, 'manifest.json'), JSON.stringify(whole))
  writeFileSync(join(dir, 'program.mjs'), PROGRAM.replace('/* SETUP */', setup).replace('/* BEHAVIOUR */', behaviour))
  return { dir, name }
}

const PROGRAM = `
import * as fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
const root = process.env.RESOLVE_DIR
const print = (text) => fs.writeSync(1, text)
const reply = (id, result) => print(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
const write = (path, text) => { fs.writeFileSync(root + '/' + path + '.tmp', text); fs.renameSync(root + '/' + path + '.tmp', root + '/' + path) }
let noteStop, answers = {}
const waiting = {}
const me = {
  config: null, resume: false, messages: [], print, write, fs, sleep,
  get params() { return me.config.params },
  stopped: new Promise((resolve) => { noteStop = resolve }),
  emit(event_type, data = {}) {
    const line = JSON.stringify({ schema_version: 1, event_type, instance_id: me.config.instance_id, data, timestamp: new Date().toISOString() })
    fs.appendFileSync(root + '/events.jsonl', line + '\\n')
  },
  finish(result) { write('status.json', JSON.stringify(result)) },
  ask(id, prompt, schema = { type: 'form', components: [] }) {
    fs.mkdirSync(root + '/input-requests', { recursive: true })
    write('input-requests/' + id + '.json', JSON.stringify({ id, prompt, schema }))
    return new Promise((resolve) => { waiting[id] = resolve; if (id in answers) resolve(answers[id]) })
  },
  on: {
    'resolver.initialize': ({ config }) => { me.config = config; return { status: 'ready' } },
    'resolver.run': ({ resume }) => { me.resume = resume; if (!me.ran) { me.ran = true; run() } return { status: 'started' } },
    'resolver.stop': ({ reason }) => { noteStop(reason); return { acknowledged: true } },
    'resolver.inputResponse': ({ request_id, payload }) => { answers[request_id] = payload; waiting[request_id]?.(payload); return null },
    'resolver.message': (message) => { me.messages.push(message); return null },
    'resolver.getInstantiationSchema': () => null,
    'resolver.getWorkspaceSpec': () => fs.existsSync('container-setup.json') ? { container_setup: JSON.parse(fs.readFileSync('container-setup.json', 'utf8')) } : null,
    'resolver.getMessageTypes': () => [{ name: 'note', label: 'Note', description: '', schema: { type: 'form', components: [{ type: 'text', id: 'text', checks: [{ condition: { call: 'required', args: [{ path: '/text' }] }, message: 'Say something.' }] }] } }],
    'resolver.shutdown': () => process.exit(0),
  },
}
async function run() {
  /* BEHAVIOUR */
}
/* SETUP */
let rest = ''
process.stdin.on('data', (bytes) => {
  const lines = (rest + bytes).split('\\n')
  rest = lines.pop()
  for (const line of lines) {
    let frame
    try { frame = JSON.parse(line) } catch { continue }
    const result = me.on[frame.method]?.(frame.params)
    if (frame.id !== undefined && result !== undefined) reply(frame.id, result)
  }
})
`
