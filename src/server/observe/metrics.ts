/**
 * The metrics of `serve` for Prometheus; GET /api/metrics reads them as text. It has its own registry, so that two servers in
 * one process do not share numbers.
 */
import { METHODS } from 'node:http'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Status } from '../../core/index.ts'
import type { Observer } from './observe.ts'

/** Numbers that are counted elsewhere; read at each scrape. */
export interface MetricSources {
  /** Open event streams, and events sent on all streams so far. */
  streams?: () => { open: number; sent: number }
  /** The number of instances by status. */
  instances?: () => Readonly<Partial<Record<Status, number>>>
  /** The number of instances that this process hosts. */
  hosted?: () => number
  /** The number of instances it adopted from dead hosts since it started. */
  adoptions?: () => number
}

export interface Metrics {
  requests: Observer
  /** The text format of Prometheus, and its media type. */
  read(): Promise<{ text: string; type: string }>
}

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function openMetrics(sources: MetricSources = {}): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const duration = new Histogram({
    name: 'resolve_http_request_duration_seconds',
    help: 'How long requests took, to the last byte; an event stream lasts as long as its reader stays.',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
    registers,
  })
  gauge('resolve_event_streams', 'Event streams that are open.', () => sources.streams?.().open)
  counter('resolve_events_sent_total', 'Events that went out on event streams.', () => sources.streams?.().sent)
  gauge('resolve_hosted_instances', 'Instances this process hosts.', () => sources.hosted?.())
  counter('resolve_adoptions_total', 'Instances taken over from a host that was gone.', () => sources.adoptions?.())
  new Gauge({
    name: 'resolve_instances',
    help: 'Instances of the home, by status.',
    labelNames: ['status'],
    registers,
    collect() {
      this.reset()
      for (const [status, count] of Object.entries(sources.instances?.() ?? {})) this.set({ status }, count)
    },
  })

  function gauge(name: string, help: string, read: () => number | undefined): void {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read() ?? 0)
      },
    })
  }

  function counter(name: string, help: string, read: () => number | undefined): void {
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(read() ?? 0)
      },
    })
  }

  return {
    requests: {
      begin: () => (seen) => {
        const labels = { method: methodOf(seen.method), route: seen.route ?? 'none', status: String(seen.status) }
        duration.observe(labels, seen.ms / 1_000)
      },
    },
    read: async () => ({ text: await registry.metrics(), type: registry.contentType }),
  }
}

/** A client can send any method; a label must have few values. */
function methodOf(method: string): string {
  return METHODS.includes(method) ? method : 'other'
}
