/**
 * OpenTelemetry spans, one a request, sent where OTEL_EXPORTER_OTLP_ENDPOINT says. Nothing of it is loaded without that.
 * What is sent is what the log has: method, route, path without query, status, instance; no header, no body, no name of a caller.
 */
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '@opentelemetry/api'
import type { Sampler, TracerProviderOptions } from '@opentelemetry/sdk-trace'
import { TRACES_CLOSE_LIMIT_MS } from '../../core/limits.ts'
import type { Observer } from './observe.ts'

export interface Traces {
  requests: Observer
  /** Sends the remaining spans, for 2 s at most. */
  close(): Promise<void>
}

export interface TracesOptions {
  env: NodeJS.ProcessEnv
  version: string
  /** Called when spans are lost because the collector does not accept them; at most once a minute. */
  onLost?: () => void
}

/** Undefined where the environment does not ask for traces. */
export async function openTraces(options: TracesOptions): Promise<Traces | undefined> {
  return isWanted(options.env) ? await startTraces(options) : undefined
}

function isWanted(env: NodeJS.ProcessEnv): boolean {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return false
  const exporter = env['OTEL_TRACES_EXPORTER']?.trim()
  if (exporter !== undefined && exporter !== '' && exporter !== 'otlp') return false
  return (
    exporter === 'otlp' || [env['OTEL_EXPORTER_OTLP_ENDPOINT'], env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']].some(Boolean)
  )
}

async function startTraces({ env, version, onLost }: TracesOptions): Promise<Traces> {
  const [api, sdk, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ])
  tellLosses(api.diag, onLost)
  const delay = Number(env['OTEL_BSP_SCHEDULE_DELAY'])
  const processor = new sdk.BatchSpanProcessor({
    exporter: new OTLPTraceExporter(),
    ...(delay > 0 ? { scheduledDelayMillis: delay } : {}),
  })
  const sampler = chooseSampler(env, sdk)
  const provider = new sdk.TracerProvider({
    spanProcessors: [processor],
    resource: resourceOf(attributesFrom(env, version)),
    ...(sampler === undefined ? {} : { sampler }),
  })
  const tracer = provider.getTracer('resolve', version)

  /** The caller's span, if the request names one (W3C Trace Context). */
  function parentOf({ headers }: IncomingMessage): Context {
    const [, traceId, spanId, flags] = TRACEPARENT.exec(String(headers['traceparent'] ?? '')) ?? []
    if (traceId === undefined || spanId === undefined) return api.ROOT_CONTEXT
    const state = headers['tracestate']
    return api.trace.setSpanContext(api.ROOT_CONTEXT, {
      traceId,
      spanId,
      traceFlags: Number.parseInt(flags ?? '0', 16) & api.TraceFlags.SAMPLED,
      isRemote: true,
      ...(typeof state === 'string' ? { traceState: api.createTraceState(state.slice(0, 512)) } : {}),
    })
  }

  const requests: Observer = {
    begin(request) {
      const method = request.method ?? ''
      const span = tracer.startSpan(method, { kind: api.SpanKind.SERVER }, parentOf(request))
      return (seen) => {
        if (seen.route !== null) span.updateName(`${method} ${seen.route}`)
        span.setAttributes({
          'http.request.method': method,
          'http.response.status_code': seen.status,
          'url.path': seen.path,
          ...(seen.route === null ? {} : { 'http.route': seen.route }),
          ...(seen.instance === null ? {} : { 'resolve.instance.id': seen.instance }),
        })
        if (seen.status >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR })
        span.end()
      }
    },
  }
  const close = async () => {
    await Promise.race([provider.shutdown().catch(() => {}), sleep(TRACES_CLOSE_LIMIT_MS, undefined, { ref: false })])
    api.diag.disable()
  }
  return { requests, close }
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/

const LOST_EVERY_MS = 60_000

function tellLosses(diag: typeof import('@opentelemetry/api').diag, onLost: TracesOptions['onLost']): void {
  let toldAt = Number.NEGATIVE_INFINITY
  const nothing = () => {}
  const error = () => {
    if (performance.now() - toldAt < LOST_EVERY_MS) return
    toldAt = performance.now()
    onLost?.()
  }
  diag.setLogger({ error, warn: nothing, info: nothing, debug: nothing, verbose: nothing })
}

function chooseSampler(env: NodeJS.ProcessEnv, sdk: typeof import('@opentelemetry/sdk-trace')): Sampler | undefined {
  const named = env['OTEL_TRACES_SAMPLER']?.trim() ?? ''
  const share = Number(env['OTEL_TRACES_SAMPLER_ARG'] ?? 1)
  const ratio = share >= 0 && share <= 1 ? share : 1
  const roots: Record<string, () => Sampler> = {
    always_on: () => new sdk.AlwaysOnSampler(),
    always_off: () => new sdk.AlwaysOffSampler(),
    traceidratio: () => new sdk.TraceIdRatioBasedSampler(ratio),
  }
  const root = roots[named.replace(/^parentbased_/, '')]?.()
  if (root === undefined) return undefined
  return named.startsWith('parentbased_') ? new sdk.ParentBasedSampler({ root }) : root
}

type Attributes = Record<string, string>

function attributesFrom(env: NodeJS.ProcessEnv, version: string): Attributes {
  const given = (env['OTEL_RESOURCE_ATTRIBUTES'] ?? '').split(',').flatMap((pair) => {
    const [name = '', value] = pair.split('=', 2).map((part) => part.trim())
    return name === '' || value === undefined ? [] : [[name, decoded(value)] as const]
  })
  return {
    'service.name': 'resolve',
    'service.version': version,
    ...Object.fromEntries(given),
    ...(env['OTEL_SERVICE_NAME'] ? { 'service.name': env['OTEL_SERVICE_NAME'] } : {}),
  }
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

type Resource = NonNullable<TracerProviderOptions['resource']>

function resourceOf(attributes: Attributes): Resource {
  const resource: Resource = {
    attributes,
    merge: (other) => (other === null ? resource : resourceOf({ ...attributes, ...(other.attributes as Attributes) })),
    getRawAttributes: () => Object.entries(attributes),
  }
  return resource
}
