/** Tools of LLM sessions that need files of the built package: the client of MCP servers, and the thread that makes Markdown. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { ranToEnd, temporaryHome } from '../support/instances.ts'

// verifies: R56-MCP R56-FETCH
test('a built resolver has an MCP server and fetches a page; a server that does not start is a line of its log', async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Heading</h1><script>no()</script>')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const dir = mkdtempSync(join(tmpdir(), 'resolve-session-'))
  const manifest = { name: 'talks', version: '1.0.0', description: 'Talks', command: ['node', 'resolver.ts'] }
  writeFileSync(join(dir, 'manifest.json'), JSON.stringify(manifest))
  const turns = [
    { calls: [{ tool: 'a__echo', input: { text: 'hello' } }] },
    { calls: [{ tool: 'fetch', input: { url } }] },
    { text: 'Done.' },
  ]
  writeFileSync(join(dir, 'script.json'), JSON.stringify({ sessions: { '*': turns } }))
  const program = `import { resolver } from 'resolve-platform/sdk'
    const args = [${JSON.stringify(resolve('test/support/mcp-program.mjs'))}]
    resolver({ async run(ctx) {
      const session = await ctx.sessions.create('work', {
        model: 'scripted/' + import.meta.dirname + '/script.json',
        mcp: { a: { command: process.execPath, args }, gone: { command: '/no/such/program' } },
        fetch: { privateAddresses: true },
      })
      return (await session.run('Go.')).output
    } }).serve()\n`
  writeFileSync(join(dir, 'resolver.ts'), program)
  const home = temporaryHome()
  const { id, story } = await ranToEnd(home, { dir, name: 'talks' })
  expect({ error: story.error, output: story.output }).toEqual({ error: null, output: 'Done.' })
  const paths = instancePaths(home, id)
  const results = readFileSync(join(paths.project, '.resolve/sessions/work/transcript.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line.includes('"type":"tool_result"'))
    .map((line) => (JSON.parse(line) as { output: string }).output)
  expect(results).toEqual(['hello', expect.stringMatching(/\n# Heading$/)])
  expect(readFileSync(paths.log, 'utf8')).toContain('The MCP server \\"gone\\"')
})
