/** An MCP server over stdio, named after what it does wrong: `mcp-program.mjs MODE`. */
import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [mode = 'plain', note = ''] = process.argv.slice(2)
if (note !== '') appendFileSync(note, `${process.pid}\n`)
if (mode === 'dies-at-start') {
  process.stderr.write('no licence found\n')
  process.exit(3)
}
if (mode === 'has-children') {
  const child = spawn('setsid', ['sleep', '300'], { stdio: 'ignore' })
  appendFileSync(note, `${child.pid}\n`)
  process.on('SIGTERM', () => {})
  setInterval(() => {}, 1_000)
}
if (mode === 'prints-noise') process.stdout.write('Starting…\n{"not": "a message"}\n[1, 2]\nready\n')
if (mode === 'floods-at-start') {
  const line = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'x'.repeat(60_000) } })}\n`
  const flood = () => {
    while (process.stdout.write(line));
    process.stdout.once('drain', flood)
  }
  flood()
}

/** One grey point. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=='

const object = { type: 'object', properties: { text: { type: 'string' } } }
const annotations = { readOnlyHint: true }
const plain = [
  { name: 'echo', description: 'Says it again', inputSchema: { ...object, required: ['text'] }, annotations },
  { name: 'env', description: 'Its environment', inputSchema: object, annotations },
  { name: 'write', description: 'Writes', inputSchema: object },
  { name: 'hang', description: 'Never answers', inputSchema: object },
  { name: 'die', description: 'Dies', inputSchema: object },
  { name: 'flood', description: '100 MB in one line', inputSchema: object },
  { name: 'picture', description: 'An image', inputSchema: object },
  { name: 'fail', description: 'Fails', inputSchema: object },
  { name: 'refuse', description: 'Answers with an error', inputSchema: object },
]

function deep(levels) {
  let schema = { type: 'string' }
  for (let level = 0; level < levels; level += 1) schema = { type: 'object', properties: { a: schema } }
  return schema
}

const odd = [
  { name: 'list', inputSchema: { type: 'array', items: 7 } },
  {
    name: 'numbers',
    inputSchema: { type: 'object', properties: { a: 7, b: { type: 'nonsense', enum: {} } }, required: 'a' },
  },
  { name: 'deep', inputSchema: deep(2_000) },
  {
    name: 'loops',
    inputSchema: {
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: { properties: { b: { $ref: '#/$defs/a' } } } },
    },
  },
  { name: 'slow', inputSchema: { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } } },
  {
    name: 'big',
    inputSchema: {
      type: 'object',
      properties: { a: { enum: Array.from({ length: 400 }, (_, at) => `${at}`.repeat(100)) } },
    },
  },
  { name: 'naïve tool / name', description: `odd \u0007 ${'long '.repeat(10_000)}`, inputSchema: object },
]

function toolsOf(cursor) {
  if (mode === 'odd-schemas') return { tools: odd }
  if (mode === 'no-schema') return { tools: [{ name: 'bare' }] }
  if (mode === 'many-tools')
    return { tools: Array.from({ length: 10_000 }, (_, at) => ({ name: `tool_${at}`, inputSchema: object })) }
  if (mode === 'endless-pages')
    return { tools: [{ name: `page_${cursor ?? 0}`, inputSchema: object }], nextCursor: `${Number(cursor ?? 0) + 1}` }
  return { tools: plain }
}

const text = (said) => ({ content: [{ type: 'text', text: said }] })

function call(id, { name, arguments: input = {} }) {
  if (name === 'echo') return answer(id, text(`${input.text}`))
  if (name === 'env')
    return answer(
      id,
      text(
        Object.entries(process.env)
          .map((pair) => pair.join('='))
          .join('\n'),
      ),
    )
  if (name === 'picture') return answer(id, { content: [{ type: 'image', mimeType: 'image/svg+xml', data: PNG }] })
  if (name === 'write') return answer(id, text('written'))
  if (name === 'fail') return answer(id, { ...text('that went wrong'), isError: true })
  if (name === 'refuse') return send({ id, error: { code: -32602, message: 'not like this' } })
  if (name === 'die') return process.exit(7)
  if (name === 'flood') return process.stdout.write('x'.repeat(100_000_000))
  if (name !== 'hang') answer(id, text(`called ${name}`))
}

function answer(id, result) {
  send({ id, result })
}

function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (mode === 'never-answers' || mode === 'floods-at-start') return
  if (method === 'initialize') {
    const serverInfo = { name: mode, version: '1.0.0' }
    answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo })
  } else if (method === 'tools/list') answer(id, toolsOf(params?.cursor))
  else if (method === 'tools/call') call(id, params)
  else if (id !== undefined) send({ id, error: { code: -32601, message: 'no such method' } })
})
