/**
 * Runs the calls of a step: guarded, one line before and one after each. What a model does wrong is told to it as a result. {@link
 * file://./turn.ts} calls it, also for the calls that an earlier process left without a result.
 */
import {
  SESSION_RESULT_LEAST_BYTES,
  SESSION_RESULT_MAX_BYTES,
  SESSION_STEP_RESULTS_MAX_BYTES,
} from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import { misfit } from '../../core/schema/fits.ts'
import type { Schema } from '../../core/schema/schema.ts'
import { mistaken, type Tool, type ToolOutput } from '../tools/tool.ts'
import { type KeptImage, keepImage } from '../transcript/images.ts'
import type { ToolCall } from '../transcript/lines.ts'
import type { CallParts } from './parts.ts'

/** Throws where the instance is stopped; then a call that had begun has no result. */
export async function runOpenCalls(parts: CallParts, turn: number): Promise<void> {
  const { history } = parts.transcript
  const share = Math.floor(SESSION_STEP_RESULTS_MAX_BYTES / Math.max(1, history.calls.length))
  const maxBytes = Math.min(SESSION_RESULT_MAX_BYTES, Math.max(SESSION_RESULT_LEAST_BYTES, share))
  // All settle first: a call that still runs would write into a transcript that is closed.
  const settled = await Promise.allSettled(history.open.map((call) => runCall(parts, turn, call, maxBytes)))
  for (const one of settled) if (one.status === 'rejected') throw one.reason
}

async function runCall(parts: CallParts, turn: number, call: ToolCall, maxBytes: number): Promise<void> {
  const { transcript, toolbox, lock, reading, signal } = parts
  const tool = toolbox.tools.get(call.tool)
  const problem = problemOf(call, tool, [...toolbox.tools.keys()])
  if (tool === undefined || problem !== undefined)
    return await answer(parts, turn, call, mistaken(problem ?? ''), maxBytes, 0)
  const hasBegun = transcript.history.begun.has(call.id)
  if (hasBegun && tool.effect !== 'reads') return await answer(parts, turn, call, mistaken(INTERRUPTED), maxBytes, 0)
  const leave = await (tool.effect === 'reads' ? reading : lock).enter(signal)
  try {
    const notes = parts.guardian.check({ session: parts.session, tool: call.tool, input: call.input, cwd: toolbox.cwd })
    for (const { rule, action, detail } of notes)
      await transcript.append('guardian', { turn, rule, action, detail }, signal)
    const refusal = notes.find(({ action }) => action === 'refused')
    if (refusal !== undefined) return await answer(parts, turn, call, mistaken(refusal.detail), maxBytes, 0)
    await transcript.append('tool_call', { turn, call: call.id, tool: call.tool, input: call.input }, signal)
    const startedAt = performance.now()
    const output = await run(tool, call, maxBytes, signal)
    const noted = notes.reduce((text, { detail }) => `${text}\n[${detail}]`, output.text)
    await answer(parts, turn, call, { ...output, text: noted }, maxBytes, performance.now() - startedAt)
  } finally {
    leave()
  }
}

async function run(tool: Tool, call: ToolCall, maxBytes: number, signal: AbortSignal): Promise<ToolOutput> {
  try {
    const output = await tool.run(call.input as Record<string, unknown>, { id: call.id, signal, maxBytes })
    signal.throwIfAborted()
    return output
  } catch (error) {
    signal.throwIfAborted()
    return mistaken(error instanceof Error ? error.message : String(error))
  }
}

async function answer(
  { transcript, signal }: CallParts,
  turn: number,
  call: ToolCall,
  output: ToolOutput,
  maxBytes: number,
  ms: number,
): Promise<void> {
  const { text: said, image } = shown(transcript.directory, output)
  const text = cutMiddle(transcript.redactor.text(said), maxBytes)
  const is_error = output.isError === true
  const told = { turn, call: call.id, tool: call.tool, output: text, is_error, duration_ms: Math.round(ms) }
  await transcript.append('tool_result', { ...told, ...(image === undefined ? {} : { image }) }, signal)
}

/** An image is kept beside the transcript. */
function shown(directory: string, { text, image }: ToolOutput): { text: string; image?: KeptImage } {
  if (image === undefined) return { text }
  const kept = keepImage(directory, image.mediaType, image.bytes)
  return kept === undefined ? { text: `${text}\n[not shown: no more images can be kept]` } : { text, image: kept }
}

function problemOf(call: ToolCall, tool: Tool | undefined, names: readonly string[]): string | undefined {
  if (call.fault !== undefined) return call.fault
  if (tool === undefined)
    return `There is no tool "${call.tool.slice(0, NAME_SHOWN_CHARS)}". There are: ${names.join(', ')}.`
  if (!isObject(call.input)) return 'The input is no object.'
  if (tool.isForeign === true) return undefined
  const path = misfit(tool.input as Schema, call.input)
  return path === undefined ? undefined : `The input does not fit at ${path}: see the schema of "${call.tool}".`
}

const NAME_SHOWN_CHARS = 100

const INTERRUPTED =
  'Interrupted: the process ended while this call ran. It may have had all, some or none of its effect. Look before you call it again.'

/** The beginning and the end; the middle is left out, in bytes of UTF-8 that stay whole. */
export function cutMiddle(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  const head = Math.floor(((maxBytes - CUT_NOTE_BYTES) * 2) / 3)
  const tail = maxBytes - CUT_NOTE_BYTES - head
  const left = bytes.length - head - tail
  const [first, last] = [bytes.subarray(0, head).toString('utf8'), bytes.subarray(-tail).toString('utf8')]
  return `${first.replace(/\ufffd+$/, '')}\n[${left} of ${bytes.length} bytes left out; ask for a part]\n${last.replace(/^\ufffd+/, '')}`
}

const CUT_NOTE_BYTES = 100
