/** What stands in an instance's journal (on-disk, The journal). */
import type { EventEnvelope } from './event.ts'
import type { Payload } from './form.ts'
import type { Manifest } from './manifest.ts'

export type Executor = 'local' | 'docker'

/** What a resolver wants of its container, once its manifest and its container_setup are merged (spec, container.*; R44). */
export interface ContainerWish {
  /** null for the platform's own image. */
  image: string | null
  command: string[]
  setup_commands: string[]
  /** What container_setup added; it runs after the manifest's. */
  added_setup_commands: string[]
  bundles: string[]
  volume_mounts: unknown[]
  dev_source_overrides: string[]
}

/** Line 0 of a journal: what was fixed when the instance was created. Never an event, never streamed. */
export interface CreationRecord {
  schema: 'resolve.journal/1'
  instance_id: string
  name: string | null
  parent_id: string | null
  created_at: string
  input: Payload
  executor: Executor
  /** What the resolver's container_setup adds to its worker's environment (R44, R45). */
  environment: Record<string, string>
  /** What its container is made with: the manifest's `container` and what container_setup added; null without a container. */
  container?: ContainerWish | null
  /** The resolver as the catalog had it then: a later `resolver update` does not change a running instance. */
  resolver: { name: string; version: string; dir: string; commit: string | null; manifest: Manifest }
}

/** One event of a journal. `text` is the envelope exactly as it stands there, and as it goes out. */
export interface JournalEvent {
  seq: number
  /** The offset just after this line in the worker's events.jsonl; null for an event of the platform. */
  sourceEnd: number | null
  text: string
  event: EventEnvelope
}
