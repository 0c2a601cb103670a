/** What stands in an instance's journal (on-disk, The journal). */
import type { EventEnvelope } from './event.ts'
import { payload } from './form.ts'
import { instanceId } from './instance.ts'
import { manifest } from './manifest.ts'
import {
  anyObject,
  anything,
  constant,
  listOf,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  text,
  time,
} from './schema.ts'

export const EXECUTORS = ['local', 'docker'] as const

export type Executor = (typeof EXECUTORS)[number]

/** What a resolver wants of its container, once its manifest and its container_setup are merged (spec, container.*; R44). */
export type ContainerWish = Static<typeof containerWish>

export const containerWish = object({
  /** null for the platform's own image. */
  image: nullable(text()),
  command: listOf(text()),
  setup_commands: listOf(text()),
  /** What container_setup added; it runs after the manifest's. */
  added_setup_commands: listOf(text()),
  bundles: listOf(text()),
  volume_mounts: listOf(anything()),
  dev_source_overrides: listOf(text()),
})

/** Line 0 of a journal: what was fixed when the instance was created. Never an event, never streamed; a story begins with it. */
export type CreationRecord = Static<typeof creationRecord>

export const creationRecord = object(
  {
    schema: constant('resolve.journal/1'),
    instance_id: instanceId(),
    name: nullable(text()),
    parent_id: nullable(text()),
    created_at: time(),
    input: payload,
    executor: oneOf(EXECUTORS),
    /** What the resolver's container_setup adds to its worker's environment (R44, R45). */
    environment: anyObject<string>({ additionalProperties: text() }),
    /** What its container is made with: the manifest's `container` and what container_setup added; null without a container. */
    container: optional(nullable(containerWish)),
    /** The resolver as the catalog had it then: a later `resolver update` does not change a running instance. */
    resolver: object({ name: text(), version: text(), dir: text(), commit: nullable(text()), manifest }),
  },
  { description: 'What was fixed when the instance was created' },
)

/** One event of a journal. `text` is the envelope exactly as it stands there, and as it goes out. */
export interface JournalEvent {
  seq: number
  /** The offset just after this line in the worker's events.jsonl; null for an event of the platform. */
  sourceEnd: number | null
  text: string
  event: EventEnvelope
}
