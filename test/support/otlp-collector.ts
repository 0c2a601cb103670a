/** A collector of OpenTelemetry that listens on this machine: a real HTTP server. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[]
  status: { code: number }
}

interface Otlp {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue: string } }[] }
    scopeSpans: { spans: OtlpSpan[] }[]
  }[]
}

/** Takes OTLP over HTTP, in JSON. */
export async function openCollector() {
  const received: { path: string; headers: Record<string, unknown>; body: Otlp }[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    received.push({
      path: request.url ?? '',
      headers: request.headers,
      body: JSON.parse(Buffer.concat(chunks).toString()),
    })
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  const spans = () =>
    received.flatMap(({ body }) => body.resourceSpans.flatMap((one) => one.scopeSpans.flatMap((two) => two.spans)))
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, spans, close }
}

/** The attributes of a span or resource as an object. */
export function valuesOf(attributes: readonly { key: string; value: object }[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
