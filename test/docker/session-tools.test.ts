/** Tools of LLM sessions in a container whose network is an allowlist: MCP servers and pages. */
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { describeWithDocker, removeContainersOf, testImage } from '../support/docker.ts'
import { ranToEnd, temporaryHome } from '../support/instances.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

const LOCAL = 'http://127.0.0.1:18080/'
const fetched = (url: string) => ({ calls: [{ tool: 'fetch', input: { url } }] })
const TURNS = {
  own: [{ calls: [{ tool: 'a__echo', input: { text: 'hello' } }] }, fetched(LOCAL), { text: 'Done.' }],
  public: [fetched(LOCAL), fetched('http://evil.example.org/'), { text: 'Done.' }],
}
const PROGRAM = `import { createServer } from 'node:http'
  import { join } from 'node:path'
  import { resolver } from 'resolve-platform/sdk'
  const here = import.meta.dirname
  resolver({ async run(ctx) {
    const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<h1>Heading</h1>'))
    await new Promise((done) => server.listen(18080, '127.0.0.1', done))
    const model = 'scripted/' + join(here, 'script.json')
    const mcp = { a: { command: process.execPath, args: [join(here, 'mcp-program.mjs')] } }
    const own = await ctx.sessions.create('own', { model, mcp, fetch: { privateAddresses: true } })
    await own.run('Go.')
    return (await (await ctx.sessions.create('public', { model })).run('Go.')).output
  } }).serve()\n`

describeWithDocker('tools of LLM sessions in a container', { timeout: 120_000 }, () => {
  let home = ''
  beforeAll(() => {
    home = temporaryHome()
  })
  afterAll(() => removeContainersOf(home))

  // verifies: R56-MCP R56-FETCH
  test('an MCP server runs there, and pages are fetched through its proxy alone', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'resolve-session-'))
    const container = { network: 'allowlist', egress: ['good.example.org'] }
    const manifest = {
      name: 'talks',
      version: '1.0.0',
      description: 'Talks',
      command: ['node', 'resolver.ts'],
      container,
    }
    const files = {
      'manifest.json': JSON.stringify(manifest),
      'script.json': JSON.stringify({ sessions: TURNS }),
      'resolver.ts': PROGRAM,
    }
    for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content, { mode: 0o644 })
    copyFileSync('test/support/mcp-program.mjs', join(dir, 'mcp-program.mjs'))
    chmodSync(join(dir, 'mcp-program.mjs'), 0o644)
    chmodSync(dir, 0o755)
    const { id, story } = await ranToEnd(home, { dir, name: 'talks' })
    expect({ error: story.error, output: story.output }).toEqual({ error: null, output: 'Done.' })
    const resultsOf = (session: string) =>
      readFileSync(join(instancePaths(home, id).project, `.resolve/sessions/${session}/transcript.jsonl`), 'utf8')
        .split('\n')
        .filter((line) => line.includes('"type":"tool_result"'))
        .map((line) => JSON.parse(line) as { output: string; is_error: boolean })
    expect(resultsOf('own')).toMatchObject([
      { output: 'hello', is_error: false },
      { output: expect.stringMatching(/\n# Heading$/), is_error: false },
    ])
    expect(resultsOf('public')).toMatchObject([
      { output: expect.stringContaining('private network'), is_error: true },
      { output: expect.stringContaining('403'), is_error: true },
    ])
  })
})
