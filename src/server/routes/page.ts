/** What a browser gets outside of /api: the page where it is built, or else where the API is. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { API } from '../../core/protocol/http.ts'
import { type PageFile, readPage } from '../page-files.ts'
import type { AppParts } from '../parts.ts'

/** Our own files only; a viewport runs in a frame of its own, without an origin (threats UI-3). */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const PLAIN = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>resolve</title>
<h1>resolve</h1>
<p>This server has no page. Its API is under <code>${API}</code>; <code>GET ${API}/openapi.json</code> describes it, with a token.</p>
</html>
`

const INDEX = 'index.html'

/** The page's own addresses; whatever else it has none for is answered by none. */
const SCREENS = ['/instances', '/inbox', '/resolvers', '/sign-in']

export function pageRoutes(app: FastifyInstance, { page }: AppParts): void {
  const files = page === undefined ? undefined : readPage(page)
  const index = files?.get(INDEX) ?? { type: 'text/html; charset=utf-8', bytes: Buffer.from(PLAIN) }
  const route = { config: { needs: 'nobody' as const }, schema: { hide: true } }
  app.get('/', route, async (_request, reply) => show(reply, index))
  if (files === undefined) return
  // Each file has an address of its own: nothing a browser sends is ever made into a path.
  for (const [name, file] of files) {
    if (name !== INDEX) app.get(`/${escaped(name)}`, route, async (_request, reply) => show(reply, file))
  }
  for (const screen of SCREENS) {
    app.get(screen, route, async (_request, reply) => show(reply, index))
    app.get(`${screen}/*`, route, async (_request, reply) => show(reply, index))
  }
}

function show(reply: FastifyReply, { type, bytes }: PageFile): FastifyReply {
  return reply.header('content-security-policy', POLICY).type(type).send(bytes)
}

/** As the router takes it: a colon and an asterisk would mean something. */
function escaped(name: string): string {
  return name.replaceAll(':', '::').replaceAll('*', '%2a')
}
