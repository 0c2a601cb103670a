/** The metrics as Prometheus reads them, and the health that needs no token. */
import { fastify } from 'fastify'
import { afterEach, expect, test } from 'vitest'
import { listen } from '../../src/server/http/listen.ts'
import { type MetricSources, openMetrics } from '../../src/server/observe/metrics.ts'
import { observe } from '../../src/server/observe/observe.ts'
import { addOperations } from '../../src/server/request/operations.ts'
import type { HealthView } from '../../src/server/request/parts.ts'
import { healthHandlers } from '../../src/server/routes/server.ts'
import { exchange } from './raw.ts'

const closers: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function start(sources: MetricSources = {}, health?: () => HealthView) {
  const metrics = openMetrics(sources)
  const observation = observe([metrics.requests])
  const app = fastify()
  observation.watch(app)
  app.get('/api/instances/:id', async () => ({}))
  const handlers = healthHandlers({ metrics, ...(health === undefined ? {} : { health }) })
  await app.register(async (api) => addOperations(api, handlers), { prefix: '/api' })
  const listening = await listen(app, { host: '127.0.0.1', port: 0, observe: observation.begin })
  closers.push(() => listening.close())
  const read = async () => await (await fetch(`${listening.url}/api/metrics`)).text()
  return { ...listening, read }
}

test('requests are counted by method, route and status, never by address (R9)', async () => {
  const { url, port, read } = await start()
  for (const id of ['a', 'b', 'c']) await fetch(`${url}/api/instances/${id}`)
  await fetch(`${url}/nowhere/${Math.random()}`)
  await exchange(port, 'GET /%ff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  const text = await read()
  expect(text).toContain(
    'resolve_http_request_duration_seconds_count{method="GET",route="/api/instances/:id",status="200"} 3',
  )
  expect(text).toContain('resolve_http_request_duration_seconds_count{method="GET",route="none",status="404"} 1')
  expect(text).toContain('resolve_http_request_duration_seconds_count{method="GET",route="none",status="400"} 1')
  expect(text).not.toContain('nowhere')
})

test('gauges are read at each request', async () => {
  const now = { hosted: 1, adoptions: 2 }
  const { read } = await start({
    hosted: () => now.hosted,
    adoptions: () => now.adoptions,
    streams: () => ({ open: 3, sent: 40 }),
    instances: () => ({ running: 5, failed: 1 }),
  })
  await read()
  now.hosted = 7
  now.adoptions = 3
  const text = await read()
  for (const line of [
    'resolve_hosted_instances 7',
    'resolve_adoptions_total 3',
    'resolve_event_streams 3',
    'resolve_events_sent_total 40',
    'resolve_instances{status="running"} 5',
    'resolve_instances{status="failed"} 1',
    'process_resident_memory_bytes ',
    'nodejs_eventloop_lag_seconds ',
  ])
    expect(text).toContain(`\n${line}`)
})

test('every line is a comment or a sample of the format', async () => {
  const { read, url } = await start({ instances: () => ({ running: 1 }) })
  const response = await fetch(`${url}/api/metrics`)
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const lines = (await read()).split('\n').filter(Boolean)
  expect(lines.length).toBeGreaterThan(50)
  const sample =
    /^[a-zA-Z_:][\w:]*(\{([a-zA-Z_]\w*="(?:\\.|[^"\\])*",?)*\})? (?:[-+]?[\d.]+(?:e[-+]?\d+)?|NaN|[-+]Inf)( \d+)?$/i
  expect(lines.filter((line) => !/^# (HELP|TYPE) /.test(line) && !sample.test(line))).toEqual([])
})

test('two servers in one process have separate counters', async () => {
  const [one, two] = [await start(), await start()]
  await fetch(`${one.url}/api/instances/a`)
  expect(await one.read()).toContain('route="/api/instances/:id"')
  expect(await two.read()).not.toContain('route="/api/instances/:id"')
})

test('health answers one word, and nothing about the home (R37)', async () => {
  const { url } = await start({}, () => ({ status: 'degraded' }))
  expect(await (await fetch(`${url}/api/health`)).json()).toEqual({ status: 'degraded' })
  const plain = await start()
  expect(await (await fetch(`${plain.url}/api/health`)).json()).toEqual({ status: 'ok' })
})
