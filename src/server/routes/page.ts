/** Serves everything outside of /api: the page if it is built, else a text that says where the API is. */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import { API } from '../../core/protocol/http.ts'
import { type PageFile, readPage } from '../http/page-files.ts'
import type { AppParts } from '../request/parts.ts'

/** Allows our own files only; a viewport runs in its own frame, without an origin (threats UI-3). */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const PAGE_HEADERS = { 'content-security-policy': POLICY }

const PLAIN = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>resolve</title>
<h1>resolve</h1>
<p>This server has no page. Its API is under <code>${API}</code>; <code>GET ${API}/openapi.json</code> describes it, with a token.</p>
</html>
`

const INDEX = 'index.html'
/** The document of the frame that viewports run in. */
const FRAME = 'viewport.html'

/** The addresses of the page itself. Any other one outside of /api is a 404, which the page explains to a person. */
const SCREENS = ['/instances', '/inbox', '/resolvers', '/sign-in']

export function pageRoutes(app: FastifyInstance, { page }: AppParts): void {
  const files = page === undefined ? undefined : readPage(page)
  const index = files?.get(INDEX) ?? { type: 'text/html; charset=utf-8', bytes: Buffer.from(PLAIN) }
  const route = { config: { needs: 'none' as const } }
  app.get('/', route, async (request, reply) => show(request, reply.headers(PAGE_HEADERS), index))
  if (files === undefined) return
  // Each file has a route of its own: text from a browser never becomes a file path.
  for (const [name, file] of files) {
    if (name === INDEX) continue
    const headers = headersOf(name, file)
    app.get(`/${escaped(name)}`, route, async (request, reply) =>
      show(request, reply.headers({ ...PAGE_HEADERS, ...headers }), file),
    )
  }
  for (const screen of SCREENS) {
    app.get(screen, route, async (request, reply) => show(request, reply.headers(PAGE_HEADERS), index))
    app.get(`${screen}/*`, route, async (request, reply) => show(request, reply.headers(PAGE_HEADERS), index))
  }
}

/** A browser that opens an unknown address gets the page with status 404; any other client gets the error. */
export function notFoundOf({ page }: Pick<AppParts, 'page'>) {
  const index = page === undefined ? undefined : readPage(page).get(INDEX)
  return (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { method, url, headers } = request
    const isOfApi = url === API || url.startsWith(`${API}/`) || url.startsWith(`${API}?`)
    const isOpened = (method === 'GET' || method === 'HEAD') && /\btext\/html\b/.test(headers.accept ?? '')
    if (index === undefined || isOfApi || !isOpened) throw fail('route_unknown', {})
    return show(request, reply.code(404).headers(PAGE_HEADERS), index)
  }
}

function headersOf(name: string, file: PageFile): Record<string, string> {
  if (name === FRAME) {
    return {
      'content-security-policy': framePolicy(file),
      'x-frame-options': 'SAMEORIGIN',
      'x-dns-prefetch-control': 'off',
    }
  }
  // The name of such a file changes with its content.
  return name.startsWith('assets/') ? { 'cache-control': 'public, max-age=31536000, immutable' } : {}
}

/**
 * The frame runs one program, allowed by its digest, and modules that the page hands it. It has no network, no forms, no
 * frames and no origin.
 */
function framePolicy({ bytes }: PageFile): string {
  const [, program = ''] = /<script>([\s\S]*)<\/script>/.exec(bytes.toString('utf8')) ?? []
  const digest = createHash('sha256').update(program).digest('base64')
  return [
    'sandbox allow-scripts',
    "default-src 'none'",
    `script-src 'sha256-${digest}' blob:`,
    "style-src 'unsafe-inline'",
    'img-src data: blob:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; ')
}

const zipped = new WeakMap<PageFile, Buffer>()

function show(request: FastifyRequest, reply: FastifyReply, file: PageFile): FastifyReply {
  reply.header('vary', 'accept-encoding').type(file.type)
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(file.bytes)
  const bytes = zipped.get(file) ?? gzipSync(file.bytes)
  zipped.set(file, bytes)
  return reply.header('content-encoding', 'gzip').send(bytes)
}

/** Escaped for the router, which gives colons and asterisks a meaning. */
function escaped(name: string): string {
  return name.replaceAll(':', '::').replaceAll('*', '%2a')
}
