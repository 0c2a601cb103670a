/** The content of an instance's journal (on-disk, The journal). */
import type { EventEnvelope } from './event.ts'
import type { Payload } from './form.ts'
import type { Manifest } from './manifest.ts'

export type Executor = 'local' | 'docker'

/** The container that a resolver wants: its manifest and its container_setup merged (spec, container_setup; R44). */
export interface ContainerOptions {
  /** null for the platform's default image. */
  image: string | null
  command: string[]
  setup_commands: string[]
  /** The commands that container_setup added; they run after the manifest's. */
  added_setup_commands: string[]
  bundles: string[]
  volume_mounts: unknown[]
  dev_source_overrides: string[]
}

/**
 * The creation record, line 0 of a journal: what was fixed when the instance was created. It is not an event and is never
 * streamed.
 */
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
  /** The container: the manifest's `container` merged with what container_setup added; null without a container. */
  container?: ContainerOptions | null
  /** The resolver as the catalog had it at creation: a later `resolver update` does not change a running instance. */
  resolver: { name: string; version: string; dir: string; commit: string | null; manifest: Manifest }
}

/** One event of a journal. `text` is the envelope byte for byte as journaled and as streamed. */
export interface JournalEvent {
  seq: number
  /** The offset just after this line in the worker's events.jsonl; null for an event of the platform. */
  sourceEnd: number | null
  text: string
  event: EventEnvelope
}
