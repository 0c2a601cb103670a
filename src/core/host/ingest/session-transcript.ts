/** Reads the transcript of an LLM session for consumers, as hostile ground: the resolver, and commands of its sessions, can write to it. */
import { fail, ResolveError } from '../../errors.ts'
import {
  JSON_MAX_DEPTH,
  REQUEST_IMAGES_MAX,
  TRANSCRIPT_FIELD_MAX_CHARS,
  TRANSCRIPT_READ_MAX_BYTES,
} from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import { isWithinDepth } from '../../primitives/json-depth.ts'
import {
  isSessionId,
  type TranscriptDocument,
  type TranscriptEvent,
  transcriptFile,
  transcriptLine,
} from '../../protocol/session/session.ts'
import type { Redactor } from '../../redaction/redact.ts'
import { fits } from '../../schema/fits.ts'
import type { CoordinationDirectory } from '../../worker/worker.ts'

/** From the byte `after` on, about `bytes`, at most as much as an answer may hold. Throws `session_unknown`. */
export async function readTranscriptFile(
  coordination: CoordinationDirectory,
  sessionId: string,
  redactor: Redactor,
  after = 0,
  wanted = TRANSCRIPT_READ_MAX_BYTES,
): Promise<TranscriptDocument> {
  const { bytes, isCut } = await readFrom(coordination, sessionId, after, Math.min(wanted, TRANSCRIPT_READ_MAX_BYTES))
  // What follows the last LF is not whole. A line that is longer than an answer is passed over.
  const whole = bytes.lastIndexOf(LF) + 1
  if (whole === 0 && isCut && wanted < TRANSCRIPT_READ_MAX_BYTES)
    return await readTranscriptFile(coordination, sessionId, redactor, after)
  const next = after + (whole === 0 && isCut ? bytes.length : whole)
  const lines = bytes.subarray(0, whole).toString('utf8').split('\n').slice(0, -1)
  const clip = new Clip()
  const events = lines.flatMap((line) => eventOf(line, redactor, clip))
  const meta = {
    total_lines: lines.length,
    extracted_events: events.length,
    truncated_fields: clip.count,
    truncated: isCut,
    next,
  }
  return { session_id: sessionId, events, meta }
}

/** How long each transcript is, of those that are there. */
export function transcriptSizes(
  coordination: CoordinationDirectory,
  sessionIds: readonly string[],
): Record<string, number> {
  const sizes: Record<string, number> = {}
  for (const id of sessionIds.filter(isSessionId)) {
    try {
      const file = coordination.open(transcriptFile(id))
      if (file !== undefined) sizes[id] = file.bytes
      file?.close()
    } catch (error) {
      if (!(error instanceof ResolveError) || error.code !== 'coordination_tampered') throw error
    }
  }
  return sizes
}

async function readFrom(
  coordination: CoordinationDirectory,
  sessionId: string,
  after: number,
  maxBytes: number,
): Promise<{ bytes: Buffer; isCut: boolean }> {
  const unknown = () => fail('session_unknown', { session: String(sessionId).slice(0, 80) })
  if (!isSessionId(sessionId)) throw unknown()
  try {
    const file = coordination.open(transcriptFile(sessionId))
    if (file === undefined) throw unknown()
    const chunks: Buffer[] = []
    const end = Math.min(file.bytes, after + maxBytes)
    // Also where nothing is read: the stream closes the file.
    for await (const chunk of file.read(Math.min(after, file.bytes), end)) chunks.push(chunk)
    return { bytes: Buffer.concat(chunks), isCut: file.bytes > end }
  } catch (error) {
    // A link, a FIFO: no transcript.
    if (error instanceof ResolveError && error.code === 'coordination_tampered') throw unknown()
    throw error
  }
}

const LF = 0x0a

function eventOf(line: string, redactor: Redactor, clip: Clip): TranscriptEvent[] {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return []
  }
  if (!isWithinDepth(value, JSON_MAX_DEPTH) || !fits(transcriptLine, value) || Number.isNaN(Date.parse(value.at)))
    return []
  const {
    seq: _,
    at,
    type,
    ...fields
  } = redactor.value(value) as Record<string, unknown> & { at: string; type: string }
  const told = Object.hasOwn(TYPES, type) ? TYPES[type]?.(fields) : undefined
  if (told === undefined) return []
  return [
    { type: told.type, timestamp: new Date(at).toISOString(), data: clip.value(told.data) as Record<string, unknown> },
  ]
}

type Fields = Record<string, unknown>
type Told = { type: TranscriptEvent['type']; data: Fields }

/** The types that agents and viewers of transcripts know, and two of our own. */
const TYPES: Readonly<Record<string, (fields: Fields) => Told>> = {
  session: ({ name, model, kind, tools }) => ({ type: 'session:start', data: { name, model, kind, tools } }),
  prompt: ({ turn, text, images }) => ({
    type: 'prompt:submit',
    data: { turn, prompt: text, ...(Array.isArray(images) ? { images: images.slice(0, REQUEST_IMAGES_MAX) } : {}) },
  }),
  steer: ({ turn, text, by }) => ({ type: 'prompt:submit', data: { turn, prompt: text, by } }),
  step: ({ turn, step, text, calls, finish, usage, cost_usd }) => ({
    type: 'content_block:end',
    data: { turn, step, text, calls, finish, usage, cost_usd },
  }),
  tool_call: ({ turn, call, tool, input }) => ({ type: 'tool:pre', data: { turn, call_id: call, tool, input } }),
  tool_result: ({ turn, call, tool, output, is_error, duration_ms }) => ({
    type: is_error === true ? 'tool:error' : 'tool:post',
    data: { turn, call_id: call, tool, output, duration_ms },
  }),
  compaction: ({ turn, how, usage, cost_usd }) => ({
    type: 'context:post_compact',
    data: { turn, how, usage, cost_usd },
  }),
  answer: ({ turn, output, duration_ms }) => ({
    type: 'prompt:complete',
    data: { turn, success: true, output, duration_ms },
  }),
  failure: ({ turn, error, duration_ms }) => ({
    type: 'prompt:complete',
    data: { turn, success: false, error, duration_ms },
  }),
  retry: ({ turn, attempt, wait_ms, reason, status }) => ({
    type: 'provider:retry',
    data: { turn, attempt, wait_ms, reason, status },
  }),
  guardian: ({ turn, rule, action, detail }) => ({ type: 'guardian:action', data: { turn, rule, action, detail } }),
}

/** Cuts long texts, and counts them. */
class Clip {
  count = 0

  value(value: unknown): unknown {
    if (typeof value === 'string') {
      if (value.length <= TRANSCRIPT_FIELD_MAX_CHARS) return value
      this.count += 1
      return `${value.slice(0, TRANSCRIPT_FIELD_MAX_CHARS)}…`
    }
    if (Array.isArray(value)) return value.map((one) => this.value(one))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.value(one)]))
  }
}
