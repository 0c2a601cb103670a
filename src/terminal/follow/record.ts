/** `--record F`: writes the answers that the models of a run gave, as its transcripts tell them. RESOLVE_LLM_MODEL=recorded/F gives them again. */
import { accessSync, chmodSync, constants, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Platform } from '../../core/index.ts'
import { usage } from '../output/command-error.ts'
import type { Output } from '../output/output.ts'

type Transcript = Awaited<ReturnType<Platform['transcript']>>

interface RecordedTurn {
  prompt: string
  steps: { text: unknown; finish: unknown; calls: unknown }[]
}

/** Before anything is created: a run that costs money must not end without its record. Throws `usage`. */
export function requireWritable(file: string): void {
  const path = resolve(file)
  const known = statSync(path, { throwIfNoEntry: false })
  try {
    if (known !== undefined && !known.isFile()) throw usage(`--record: ${file} is no file.`)
    accessSync(known === undefined ? dirname(path) : path, constants.W_OK)
  } catch (error) {
    throw error instanceof Error && 'code' in error && String(error.code).startsWith('E')
      ? usage(`--record: can't write ${file} (${error.code}).`)
      : error
  }
}

/** The transcripts are redacted, and so is the record. A text that was cut would be another answer: then nothing is written. */
export async function writeRecording(platform: Platform, id: string, file: string, output: Output): Promise<void> {
  const listed = await platform.sessions(id)
  const sessions: Record<string, { model: string; turns: RecordedTurn[] }> = {}
  for (const { id: sid, model } of listed) {
    const transcript = await platform.transcript(id, sid)
    const { truncated, truncated_fields: cut } = transcript.meta
    if (truncated || cut > 0) {
      output.say(output.paint('yellow', `Not recorded: the transcript of the session "${sid}" is too long.`))
      return
    }
    Object.defineProperty(sessions, sid, { value: { model, turns: turnsOf(transcript) }, enumerable: true })
  }
  const recording = { schema: 'resolve.recording/1', instance_id: id, sessions }
  writeFileSync(file, `${JSON.stringify(recording, null, 2)}\n`, { mode: 0o600 })
  chmodSync(file, 0o600)
  output.note(`Recorded ${listed.length === 1 ? '1 session' : `${listed.length} sessions`} in ${file}.`)
}

function turnsOf({ events }: Transcript): RecordedTurn[] {
  const turns: RecordedTurn[] = []
  for (const { type, data } of events) {
    const isPrompt = type === 'prompt:submit' && data['by'] === undefined
    if (isPrompt) turns.push({ prompt: String(data['prompt']), steps: [] })
    const { text, finish, calls } = data
    if (type === 'content_block:end') turns.at(-1)?.steps.push({ text, finish, calls })
  }
  return turns
}
