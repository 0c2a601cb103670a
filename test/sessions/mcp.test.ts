/** MCP servers of a session: a real one, servers that break the rules, and their end. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { McpServer } from '../../src/sessions/contract/contract.ts'
import { toolSchema } from '../../src/sessions/mcp/tool-schema.ts'
import { DIALECTS, LlmServer } from '../support/llm-server.ts'
import { arena } from './arena.ts'
import { type Asked, bench } from './calls.ts'

const PROGRAM = resolve('test/support/mcp-program.mjs')
const program = (mode: string, ...more: string[]): McpServer => ({
  command: process.execPath,
  args: [PROGRAM, mode, ...more],
})

/** A bench whose sessions collect their warnings. */
function place(mcp: Record<string, McpServer>, mcpCallMs = 60_000) {
  const { at, run } = bench()
  const warnings: string[] = []
  at.open({ onWarning: (text) => warnings.push(text), pace: { mcpStartMs: 60_000, mcpCallMs } })
  return {
    at,
    warnings,
    run: (calls: readonly Asked[], options = {}) => run(calls, { mcp, ...options }),
    toolsOf: (id: string) => at.linesOf(id, 'session')[0]?.tools ?? [],
  }
}

function isAlive(pid: string): boolean {
  return existsSync(`/proc/${pid}/exe`)
}

const pidsIn = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [])

describe('a program', () => {
  test('its tools are called by the name of the server and theirs, with errors told to the model (R56-MCP)', async () => {
    const { run, toolsOf, warnings } = place({ a: program('plain'), b: { ...program('plain'), tools: ['echo'] } })
    const results = await run([
      ['a__echo', { text: 'hello' }],
      ['b__echo', { text: 'x'.repeat(100_000) }],
      ['a__fail', {}],
      ['a__refuse', {}],
      ['b__write', {}],
    ])
    expect(results[0]).toEqual({ output: 'hello', isError: false })
    expect(Buffer.byteLength(results[1]?.output ?? '')).toBeLessThanOrEqual(50 * 1024)
    expect(results[2]).toEqual({ output: 'that went wrong', isError: true })
    expect(results[3]).toEqual({ output: 'not like this', isError: true })
    expect(results[4]).toMatchObject({ isError: true, output: expect.stringContaining('There is no tool') })
    expect(toolsOf('s1').filter((name) => name.startsWith('b__'))).toEqual(['b__echo'])
    expect(warnings).toEqual([])
  })

  test('it has a short environment, and what its author gives it as a secret is in no result (R56-MCP)', async () => {
    process.env['OF_THE_OPERATOR'] = 'not for servers'
    onTestFinished(() => {
      delete process.env['OF_THE_OPERATOR']
    })
    const env = { MY_TOKEN: 'canary-0123456789', PLACE: 'here' }
    const { run } = place({ a: { ...program('plain'), env } })
    const [told] = await run([['a__env', {}]])
    expect(told?.output).toContain('PLACE=here')
    expect(told?.output).toContain('MY_TOKEN=[redacted]')
    expect(told?.output).not.toMatch(/OF_THE_OPERATOR|canary/)
  })

  test('a session that is readOnly has only the tools that say they only read', async () => {
    const { run, toolsOf } = place({ a: program('plain') })
    const [written] = await run([['a__write', {}]], { readOnly: true })
    expect(written?.isError).toBe(true)
    expect(toolsOf('s1').filter((name) => name.startsWith('a__'))).toEqual(['a__echo', 'a__env'])
  })

  test('agents use the servers of their session', async () => {
    const pids = join(bench().at.workspace, 'pids')
    const { at } = place({})
    const script = join(at.config.project_path, 'agents.json')
    const own = [{ calls: [{ tool: 'agent', input: { agent: 'helper', task: 'Go.' } }] }, { text: 'Done.' }]
    const helper = [{ calls: [{ tool: 'a__echo', input: { text: 'from the agent' } }] }, { text: 'Done.' }]
    writeFileSync(script, JSON.stringify({ sessions: { work: own, helper } }))
    const session = await at.create('work', {
      model: `scripted/${script}`,
      mcp: { a: program('plain', pids) },
      agents: { helper: { description: 'Helps' } },
    })
    await session.run('Go.')
    const child = at.dispatched.find(({ parent_id }) => parent_id === 'work')?.session_id ?? ''
    expect(at.linesOf(child, 'tool_result').map(({ output }) => output)).toEqual(['from the agent'])
    expect(pidsIn(pids)).toHaveLength(1)
  })
})

describe('a server that breaks the rules', () => {
  test.each([
    ['dies-at-start', 'no licence found'],
    ['floods-at-start', 'that answer nothing'],
    ['no-schema', "can't be used"],
  ])('%s: a warning, its tools are missing, and the session works', async (mode, said) => {
    const pids = join(bench().at.workspace, 'pids')
    const { run, warnings, toolsOf } = place({ bad: program(mode, pids), good: program('prints-noise') })
    const [told] = await run([['good__echo', { text: 'still here' }]])
    expect(told?.output).toBe('still here')
    expect(warnings).toEqual([expect.stringContaining(said)])
    expect(warnings[0]).toContain('"bad"')
    expect(toolsOf('s1').some((name) => name.startsWith('bad__'))).toBe(false)
    for (const pid of pidsIn(pids)) await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false)
  })

  test('one that never answers and one that is not there are given up', async () => {
    const { at, run } = bench()
    const warnings: string[] = []
    at.open({ onWarning: (text) => warnings.push(text), pace: { mcpStartMs: 500, mcpCallMs: 500 } })
    await run([], { mcp: { silent: program('never-answers'), gone: { command: '/no/such/program' } } })
    expect(warnings.sort()).toEqual([expect.stringContaining('ENOENT'), expect.stringContaining('timed out')])
  })

  test('10,000 tools and pages without end: the first tools count, and the warning names the others', async () => {
    const { run, warnings, toolsOf } = place({ many: program('many-tools'), pages: program('endless-pages') })
    const [told] = await run([['many__tool_7', {}]])
    expect(told?.output).toBe('called tool_7')
    expect(toolsOf('s1').filter((name) => name.includes('__'))).toHaveLength(128)
    expect(warnings).toEqual([expect.stringContaining('"many"'), expect.stringContaining('"pages"')])
    for (const one of warnings) expect(one.length).toBeLessThan(2_000)
  })

  test('one that hangs in a call is ended', async () => {
    const pids = join(bench().at.workspace, 'pids')
    const { run } = place({ a: program('plain', pids) }, 500)
    const [hung] = await run([['a__hang', {}]])
    expect(hung).toMatchObject({ isError: true, output: expect.stringContaining('gave no answer to "hang"') })
    for (const pid of pidsIn(pids)) await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false)
  })

  test('a resumed session starts its servers again', async () => {
    const pids = join(bench().at.workspace, 'pids')
    const { at, run } = place({ a: program('plain', pids) })
    await run([['a__echo', { text: 'one' }]])
    at.open()
    const script = join(at.config.project_path, 's1.json')
    const resumed = await at.create('s1', { model: `scripted/${script}`, mcp: { a: program('plain', pids) } })
    expect(await resumed.run('Go.')).toMatchObject({ output: 'Done.' })
    expect(pidsIn(pids)).toHaveLength(2)
    expect(at.linesOf('s1', 'tool_result')).toHaveLength(1)
  })

  test('one that dies in a call or sends 100 MB is ended, and starts again at the next call', async () => {
    const pids = join(bench().at.workspace, 'pids')
    const { run } = place({ a: program('plain', pids) })
    const results = await run([
      ['a__die', {}],
      ['a__echo', { text: 'one' }],
      ['a__die', {}],
      ['a__echo', { text: 'two' }],
      ['a__flood', {}],
      ['a__echo', { text: 'three' }],
      ['a__die', {}],
      ['a__echo', { text: 'four' }],
    ])
    const [died, one, , two, flooded, three, , gone] = results.map(({ output }) => output)
    expect([one, two, three]).toEqual(['one', 'two', 'three'])
    expect(died).toContain('"a"')
    expect(flooded).toContain('a message of more than')
    expect(gone).toContain('not started again')
    const all = pidsIn(pids)
    expect(all).toHaveLength(4)
    for (const pid of all) await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false)
  })

  test.each(DIALECTS)('odd schemas do not break the request of %s', async (provider) => {
    const llm = await LlmServer.start([
      { calls: [{ tool: 'odd__slow', input: { a: `${'a'.repeat(40)}!` } }] },
      { text: 'Done.' },
    ])
    onTestFinished(() => llm.close())
    const at = arena({ model: `${provider}/test`, base_url: llm.url })
    const session = await at.create('work', { mcp: { odd: program('odd-schemas') } })
    expect(await session.run('Go.')).toMatchObject({ output: 'Done.' })
    expect(at.linesOf('work', 'tool_result').map(({ output }) => output)).toEqual(['called slow'])
    expect(llm.requests[0]?.text).toContain('odd__na_ve_tool___name')
    expect(llm.requests[0]?.text.length).toBeLessThan(64 * 1024)
    expect(llm.requests[0]?.text).not.toContain('(a+)+')
  })

  test('a schema that is told becomes one that every provider takes', () => {
    const point = { type: 'object', properties: { x: { type: 'number' } }, required: ['x', 'y'] }
    const told = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      properties: {
        at: { $ref: '#/$defs/point', description: 'Where' },
        how: { const: 'fast' },
        tags: { type: 'array' },
      },
      required: ['at', 7],
      $defs: { point },
    }
    expect(toolSchema(told)).toEqual({
      type: 'object',
      properties: {
        at: { type: 'object', description: 'Where', properties: { x: { type: 'number' } }, required: ['x'] },
        how: { enum: ['fast'] },
        tags: { type: 'array', items: {} },
      },
      required: ['at'],
    })
    for (const nonsense of [null, 7, [], 'x', { properties: [] }, { type: 'string' }])
      expect(toolSchema(nonsense)).toEqual({ type: 'object', properties: {} })
  })
})

/** An MCP server over HTTP; `big`: it answers a call with more than is read. */
async function httpServer(sent: { method: string; header: string | undefined }[]): Promise<string> {
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += String(chunk)
    })
    request.on('end', () => {
      sent.push({ method: request.method ?? '', header: request.headers.authorization })
      if (request.url === '/moved') return response.writeHead(307, { location: '/' }).end()
      if (request.method !== 'POST') return response.writeHead(405).end()
      const { id, method, params } = JSON.parse(text) as { id?: number; method: string; params?: { name?: string } }
      if (id === undefined) return response.writeHead(202).end()
      const tool = (name: string) => ({ name, inputSchema: { type: 'object' } })
      const results: Record<string, unknown> = {
        initialize: {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'h', version: '1' },
        },
        'tools/list': { tools: [tool('who'), tool('big')] },
        'tools/call': {
          content: [
            {
              type: 'text',
              text: params?.name === 'big' ? 'x'.repeat(9_000_000) : `Bearer ${request.headers.authorization}`,
            },
          ],
        },
      }
      const result = results[method]
      const error = { code: -32601, message: 'no such method' }
      const answer = JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) })
      response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': 'one' })
      return response.end(`event: message\ndata: ${answer}\n\n`)
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a server over HTTP gets its headers, follows no redirect, and is read within limits (R56-MCP)', async () => {
  const sent: { method: string; header: string | undefined }[] = []
  const url = await httpServer(sent)
  const headers = { authorization: 'Bearer canary-0123456789' }
  const { run, warnings } = place({
    web: { url, headers },
    moved: { url: `${url}/moved` },
    closed: { url: 'http://127.0.0.1:1' },
  })
  const [who, big] = await run([
    ['web__who', {}],
    ['web__big', {}],
  ])
  expect(who).toEqual({ output: 'Bearer [redacted]', isError: false })
  expect(big).toMatchObject({ isError: true, output: expect.stringContaining('it sent more than') })
  expect(new Set(sent.filter(({ method }) => method === 'POST').map(({ header }) => header))).toContain(
    headers.authorization,
  )
  expect(sent.some(({ method }) => method === 'GET')).toBe(false)
  expect(warnings.sort()).toEqual([expect.stringContaining('"closed"'), expect.stringContaining('"moved"')])
})

/** The path of the program of `@modelcontextprotocol/server-filesystem`: with it come 107 packages, so it is not installed with ours. */
const REAL = process.env['RESOLVE_TEST_MCP_FILESYSTEM']

test.skipIf(REAL === undefined)('a real server reads and writes', async () => {
  const { at } = bench()
  const { run, toolsOf, warnings } = place({ fs: { command: process.execPath, args: [REAL ?? '', at.workspace] } })
  const path = join(at.workspace, 'a.txt')
  const results = await run([
    ['fs__write_file', { path, content: 'by a server' }],
    ['fs__read_text_file', { path }],
    ['fs__read_text_file', { path: '/etc/passwd' }],
  ])
  expect(results.map(({ isError }) => isError)).toEqual([false, false, true])
  expect(results[1]?.output).toBe('by a server')
  expect(warnings).toEqual([])
  await run([], { readOnly: true })
  const names = toolsOf('s2')
  expect(names).toContain('fs__read_text_file')
  expect(names).not.toContain('fs__write_file')
})

test('a stop ends servers with everything that they started', async () => {
  const { at, run } = place({})
  const pids = join(at.workspace, 'pids')
  const running = run([['a__hang', {}]], { mcp: { a: program('has-children', pids) } })
  await expect.poll(() => at.lines('s1').map(({ type }) => type), { timeout: 20_000 }).toContain('tool_call')
  expect(pidsIn(pids)).toHaveLength(2)
  at.stop.abort(new Error('stopped by a person'))
  await expect(running).rejects.toThrow('stopped by a person')
  for (const pid of pidsIn(pids)) await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false)
})

test.each([
  [{ 'a b': { command: 'x' } }, /can't be the name/],
  [{ a: {} }, /either "command" or "url"/],
  [{ a: { url: 'file:///etc/passwd' } }, /no address of http/],
  [{ a: { command: 'x', args: 'y' } }, /"args"/],
  [Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`s${at}`, { command: 'x' }])), /at most 8/],
] as unknown as [Record<string, McpServer>, RegExp][])('options that are wrong are refused: %j', async (mcp, said) => {
  const { run } = place(mcp)
  await expect(run([])).rejects.toThrow(said)
})
