/**
 * A span for each request, sent where OTEL_EXPORTER_OTLP_ENDPOINT says. What is sent is what the log has: method, route, path without query, status,
 * instance; no header, no body, no name of a caller.
 */
import type { IncomingMessage } from 'node:http'
import type { Context } from '@opentelemetry/api'
import { openTracing, type TracingOptions } from '../../core/index.ts'
import type { Observer } from './observe.ts'

export interface Traces {
  requests: Observer
  /** Sends the remaining spans, for 2 s at most. */
  close(): Promise<void>
}

/** Undefined where the environment does not ask for traces. */
export async function openTraces(options: TracingOptions): Promise<Traces | undefined> {
  const tracing = await openTracing(options)
  if (tracing === undefined) return undefined
  const { api, tracer, close } = tracing

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
  return { requests, close }
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/
