/**
 * Sends OpenTelemetry spans to where OTEL_EXPORTER_OTLP_ENDPOINT says (OTLP over HTTP). Nothing of OpenTelemetry is loaded without that. The server
 * sends a span for each request; hosts send finished spans of LLM sessions ({@link file://./session-traces.ts}).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Attributes, Tracer } from '@opentelemetry/api'
import type { ReadableSpan, Sampler, TracerProviderOptions } from '@opentelemetry/sdk-trace'
import { TRACES_CLOSE_LIMIT_MS } from '../limits.ts'

/** A span that began and ended, with ids that its maker chose: made again, it is the same span. */
export interface FinishedSpan {
  /** 32 hex digits. */
  traceId: string
  /** 16 hex digits. */
  spanId: string
  parentId?: string
  name: string
  /** client: it asks another service. internal: it happens here. */
  kind: 'client' | 'internal'
  startMs: number
  endMs: number
  attributes: Attributes
  /** Why it failed. */
  failure?: string
}

export interface Tracing {
  api: typeof import('@opentelemetry/api')
  tracer: Tracer
  /** Sends a span, unless the sampler leaves its trace out. */
  send(span: FinishedSpan): void
  /** Waits until the spans so far are sent, for 2 s at most. */
  flush(): Promise<void>
  /** Like {@link flush}; no spans after it. */
  close(): Promise<void>
}

export interface TracingOptions {
  env: NodeJS.ProcessEnv
  version: string
  /** Called when spans are lost because the collector does not accept them; at most once a minute. */
  onLost?: () => void
}

/** Undefined where the environment does not ask for traces. */
export async function openTracing(options: TracingOptions): Promise<Tracing | undefined> {
  return isTracingWanted(options.env) ? await startTracing(options) : undefined
}

export function isTracingWanted(env: NodeJS.ProcessEnv): boolean {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return false
  const exporter = env['OTEL_TRACES_EXPORTER']?.trim()
  if (exporter !== undefined && exporter !== '' && exporter !== 'otlp') return false
  return (
    exporter === 'otlp' || [env['OTEL_EXPORTER_OTLP_ENDPOINT'], env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']].some(Boolean)
  )
}

async function startTracing({ env, version, onLost }: TracingOptions): Promise<Tracing> {
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
  const resource = resourceOf(attributesFrom(env, version))
  const provider = new sdk.TracerProvider({
    spanProcessors: [processor],
    resource,
    ...(sampler === undefined ? {} : { sampler }),
  })
  const send = (span: FinishedSpan) => {
    const kind = span.kind === 'client' ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL
    // A ratio decides by the id of the trace, so a trace is sent as a whole or not at all.
    const sampled = sampler?.shouldSample(api.ROOT_CONTEXT, span.traceId, span.name, kind, span.attributes, [])
    if (sampled === undefined || sampled.decision === sdk.SamplingDecision.RECORD_AND_SAMPLED)
      processor.onEnd(readable(api, span, { kind, resource, version }))
  }
  const flush = async () => await bounded(processor.forceFlush())
  const close = async () => {
    await bounded(provider.shutdown())
    api.diag.disable()
  }
  return { api, tracer: provider.getTracer(SCOPE, version), send, flush, close }
}

const SCOPE = 'resolve'

async function bounded(work: Promise<void>): Promise<void> {
  await Promise.race([work.catch(() => {}), sleep(TRACES_CLOSE_LIMIT_MS, undefined, { ref: false })])
}

function readable(
  api: typeof import('@opentelemetry/api'),
  { traceId, spanId, parentId, name, startMs, endMs, attributes, failure }: FinishedSpan,
  { kind, resource, version }: { kind: number; resource: Resource; version: string },
): ReadableSpan {
  const context = (id: string) => ({ traceId, spanId: id, traceFlags: api.TraceFlags.SAMPLED })
  const end = Math.max(startMs, endMs)
  const status =
    failure === undefined ? { code: api.SpanStatusCode.UNSET } : { code: api.SpanStatusCode.ERROR, message: failure }
  return {
    name,
    kind,
    spanContext: () => context(spanId),
    ...(parentId === undefined ? {} : { parentSpanContext: context(parentId) }),
    startTime: hrTime(startMs),
    endTime: hrTime(end),
    duration: hrTime(end - startMs),
    status,
    attributes,
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: { name: SCOPE, version },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

/** Seconds and nanoseconds. */
function hrTime(ms: number): [number, number] {
  return [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1e6)]
}

const LOST_EVERY_MS = 60_000

function tellLosses(diag: typeof import('@opentelemetry/api').diag, onLost: TracingOptions['onLost']): void {
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

type Texts = Record<string, string>

function attributesFrom(env: NodeJS.ProcessEnv, version: string): Texts {
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

function resourceOf(attributes: Texts): Resource {
  const resource: Resource = {
    attributes,
    merge: (other) => (other === null ? resource : resourceOf({ ...attributes, ...(other.attributes as Texts) })),
    getRawAttributes: () => Object.entries(attributes),
  }
  return resource
}
