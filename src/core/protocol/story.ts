/** What a person sees of an instance: the shape of the story, which {@link file://./../view/story.ts} makes of the journal. */
import { form } from './form.ts'
import { instanceError, REQUEST_STATUSES } from './instance.ts'
import { creationRecord } from './journal.ts'
import { anyObject, count, integer, listOf, named, nullable, number, object, oneOf, text, time } from './schema.ts'
import { STATUSES } from './status.ts'

const statusChange = object({ status: oneOf(STATUSES), at: time(), reason: nullable(text()) })

export const storyRequest = object({
  id: text(),
  prompt: text(),
  schema: form,
  status: oneOf(REQUEST_STATUSES),
  asked_at: time(),
  answered_at: nullable(text()),
  actor: nullable(text()),
  via: nullable(text()),
})

const storyMessage = object({
  number: integer(),
  message_type: text(),
  actor: text(),
  via: text(),
  at: time(),
})

export const storyPhase = object({ name: text(), at: time() })

const storyProgress = object({
  milestone: text(),
  /** 0 to 1; null where the resolver cannot tell. */
  fraction: nullable(number({ minimum: 0, maximum: 1 })),
  label: nullable(text()),
  at: time(),
})

export const storyArtifact = object({
  kind: text(),
  value: text(),
  metadata: nullable(anyObject()),
  at: time(),
})

export const storyCompletion = object({
  outcome: oneOf(['success', 'failed']),
  summary: text(),
  duration_s: nullable(number()),
  error: nullable(instanceError),
})

export const story = named(
  'Story',
  object({
    /** What was fixed when the instance was created. */
    creation: creationRecord,
    status: oneOf(STATUSES),
    history: listOf(statusChange),
    phase: nullable(text()),
    phases: listOf(storyPhase),
    progress: nullable(storyProgress),
    artifacts: listOf(storyArtifact),
    requests: listOf(storyRequest),
    messages: listOf(storyMessage),
    /** Data files a resolver said it changed, latest last. */
    changedData: listOf(text()),
    /** The last `resolver:completed`; one a run. */
    completion: nullable(storyCompletion),
    output: nullable(text()),
    error: nullable(instanceError),
    /** How often a worker was launched, and how often one was wanted (a resume wants the next). */
    incarnation: count(),
    wantedIncarnation: count(),
    /** How often another host took over. */
    adoptions: count(),
    /** Lines of the resolver that were not forwarded. */
    rejected: count(),
    lastSeq: count({ description: 'The number of the last event' }),
    lastEventAt: time(),
    endedAt: nullable(time()),
  }),
  'What a person sees of an instance, as all that its events tell',
)
