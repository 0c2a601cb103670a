/**
 * Observes each request once, from its first byte to its last, for the log, the metrics and the traces; also requests without
 * a route.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** A request that was answered, or whose client disconnected. It holds no secret: no query, no header, no body. */
export interface Seen {
  /** The number of the request in this process. */
  id: string
  method: string
  /** As received, without the query; printable ASCII only. */
  path: string
  /** The pattern of its route (`/api/instances/:id`); null where there is none. */
  route: string | null
  status: number
  /** Whether the whole answer was sent. */
  finished: boolean
  ms: number
  /** Bytes of the answer, including its headers. */
  bytes: number
  /** The name of the caller's token, never its text; null for none. */
  token: string | null
  /** The instance that the request is about. */
  instance: string | null
}

export interface Observer {
  /** Called when a request begins. The function it returns is called when the request is over. */
  begin(request: IncomingMessage): (seen: Seen) => void
}

export interface Observation {
  /** For `listen`: called before the app handles a request. */
  begin(request: IncomingMessage, response: ServerResponse): void
  /** For `AppParts.observe`: adds the route, the caller and the instance of each request. */
  watch(app: FastifyInstance): void
}

export function observe(observers: readonly Observer[]): Observation {
  const known = new WeakMap<IncomingMessage, FastifyRequest>()
  const begun = new WeakSet<IncomingMessage>()
  let count = 0

  function begin(request: IncomingMessage, response: ServerResponse): void {
    if (begun.has(request)) return
    begun.add(request)
    count += 1
    const id = `req-${count.toString(36)}`
    const startedAt = performance.now()
    const bytesBefore = request.socket.bytesWritten ?? 0
    const ends = observers.map((observer) => observer.begin(request))
    let isOver = false
    const end = () => {
      if (isOver) return
      isOver = true
      const seen: Seen = {
        id,
        method: request.method ?? '',
        path: pathOf(request.url ?? ''),
        ...routeOf(known.get(request)),
        status: response.statusCode,
        finished: response.writableFinished,
        ms: performance.now() - startedAt,
        bytes: Math.max(0, (request.socket.bytesWritten ?? 0) - bytesBefore),
      }
      for (const tell of ends) tell(seen)
    }
    response.once('finish', end)
    response.once('close', end)
  }

  return {
    begin,
    watch(app) {
      app.addHook('onRequest', async (request, reply) => {
        known.set(request.raw, request)
        begin(request.raw, reply.raw)
      })
    },
  }
}

function routeOf(request: FastifyRequest | undefined): Pick<Seen, 'route' | 'token' | 'instance'> {
  if (request === undefined) return { route: null, token: null, instance: null }
  const { id } = (request.params ?? {}) as { id?: unknown }
  const { caller } = request as { caller?: { tokenId: string | null } | null }
  return {
    route: request.is404 ? null : (request.routeOptions.url ?? null),
    token: caller?.tokenId ?? null,
    instance: typeof id === 'string' && /^[0-9a-f]{12}$/.test(id) ? id : null,
  }
}

/** A target may contain a query, or a user name and password before its host: both are removed (R37). */
function pathOf(target: string): string {
  const path = (target.split(/[?#]/, 1)[0] ?? '').replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '')
  return withoutSecrets(path.replace(/[^\x21-\x7e]/g, (char) => encodeURIComponent(char)).slice(0, PATH_MAX_CHARS))
}

/** Cuts tokens and one-time codes, recognised by their form, anywhere in the text. */
export function withoutSecrets(text: string): string {
  return text
    .replace(/(rsl[vf])_([0-9a-f]{8})_[A-Za-z0-9_-]+/g, '$1_$2_…')
    .replace(/((?:token|code)(?:=|%3[dD]))[^\s"&\\]+/g, '$1…')
}

/** Longer ones are cut: the rest carries no information. */
const PATH_MAX_CHARS = 500
