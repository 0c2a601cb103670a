/** Traces, sent to a collector that listens here: a real HTTP server that takes OTLP in JSON. */
import { fastify } from 'fastify'
import { afterEach, expect, test, vi } from 'vitest'
import { listen } from '../../src/server/http/listen.ts'
import { observe } from '../../src/server/observe/observe.ts'
import { openTraces } from '../../src/server/observe/traces.ts'
import { openCollector, valuesOf } from '../support/otlp-collector.ts'

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  vi.unstubAllEnvs()
})

async function collector() {
  const opened = await openCollector()
  closers.push(opened.close)
  return opened
}

/** The exporter reads the process's environment, as everywhere. */
async function start(env: Record<string, string>, onLost?: () => void) {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  const traces = await openTraces({ env: process.env, version: '1.2.3', ...(onLost === undefined ? {} : { onLost }) })
  const observation = observe(traces === undefined ? [] : [traces.requests])
  const app = fastify()
  observation.watch(app)
  app.get('/api/instances/:id', async () => ({}))
  app.get('/fails', async (_, reply) => await reply.code(500).send({}))
  const listening = await listen(app, { host: '127.0.0.1', port: 0, observe: observation.begin })
  closers.push(() => listening.close())
  closers.push(() => traces?.close())
  return { ...listening, traces }
}

test('a request is a span with its route, status and instance, and continues the trace of its caller', async () => {
  const { endpoint, received, spans } = await collector()
  const { url, traces } = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=secret-of-the-collector',
    OTEL_SERVICE_NAME: 'my-resolve',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=a%20b',
  })
  const token = `rslv_0123abcd_${'S'.repeat(43)}`
  await fetch(`${url}/api/instances/0123456789ab?token=${token}`, {
    headers: {
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      authorization: `Bearer ${token}`,
    },
  })
  await fetch(`${url}/fails`)
  await traces?.close()
  const [span, failed] = spans()
  expect(span).toMatchObject({
    traceId: '0af7651916cd43dd8448eb211c80319c',
    parentSpanId: 'b7ad6b7169203331',
    name: 'GET /api/instances/:id',
    kind: 2,
  })
  expect(valuesOf(span?.attributes)).toEqual({
    'http.request.method': 'GET',
    'http.response.status_code': 200,
    'http.route': '/api/instances/:id',
    'url.path': '/api/instances/0123456789ab',
    'resolve.instance.id': '0123456789ab',
  })
  expect(failed).toMatchObject({ name: 'GET /fails', status: { code: 2 } })
  expect(failed?.traceId).not.toBe(span?.traceId)
  expect(received[0]?.path).toBe('/v1/traces')
  expect(received[0]?.headers['x-key']).toBe('secret-of-the-collector')
  expect(valuesOf(received[0]?.body.resourceSpans[0]?.resource.attributes)).toMatchObject({
    'service.name': 'my-resolve',
    'service.version': '1.2.3',
    'deployment.environment': 'a b',
  })
  expect(JSON.stringify(received.map(({ body }) => body))).not.toMatch(/SSSS|rslv_/)
})

test.each([
  '',
  'garbage',
  '00-00000000000000000000000000000000-b7ad6b7169203331-01',
  'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
])('an invalid traceparent (%s) begins a new trace', async (traceparent) => {
  const { endpoint, spans } = await collector()
  const { url, traces } = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })
  await fetch(`${url}/api/instances/a`, { headers: { traceparent } })
  await traces?.close()
  expect(spans()).toHaveLength(1)
  expect(spans()[0]?.parentSpanId).toBeUndefined()
  expect(spans()[0]?.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/)
})

test.each([
  ['nothing is set', {}],
  ['only a name is set', { OTEL_SERVICE_NAME: 'x' }],
  ['OTEL_SDK_DISABLED is true', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' }],
  ['the exporter is none', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_TRACES_EXPORTER: 'none' }],
])('no traces are sent if %s', async (_, env) => {
  expect((await start(env)).traces).toBeUndefined()
})

test('a sampler that takes no request sends no spans', async () => {
  const { endpoint, spans } = await collector()
  const { url, traces } = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER: 'always_off' })
  await fetch(`${url}/api/instances/a`)
  await traces?.close()
  expect(spans()).toEqual([])
})

test('an unreachable collector delays no request and no shutdown, and is reported once', async () => {
  let lost = 0
  const { url, traces } = await start(
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    },
    () => {
      lost += 1
    },
  )
  for (let i = 0; i < 3; i += 1) expect((await fetch(`${url}/api/instances/a`)).status).toBe(200)
  await expect.poll(() => lost).toBe(1)
  const before = performance.now()
  await traces?.close()
  expect(performance.now() - before).toBeLessThan(5_000)
})
