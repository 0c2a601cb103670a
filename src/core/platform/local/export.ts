/**
 * Exports everything about an instance as one archive (docs/on-disk.md, Export). A running instance is exported as it is at
 * the beginning.
 */
import { pipeline, Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import { ResolveError } from '../../errors.ts'
import { type TarEntry, tar } from '../../files/tar.ts'
import { type ListedFile, listData, openData, readStderrTail } from '../../host/ingest/instance-files.ts'
import { LOG_PAGE_MAX_LINES } from '../../limits.ts'
import { readLog } from '../../log/log-reader.ts'
import { inTurns } from '../../primitives/in-turns.ts'
import { messageFile, requestFile } from '../../protocol/coordination.ts'
import type { InstanceRecord } from '../../protocol/instance.ts'
import type { CreationRecord } from '../../protocol/journal.ts'
import type { InstancePaths } from '../../store/home.ts'
import { type Inbox, readPayload } from '../../store/inbox.ts'
import { type JournalLine, prefixOf } from '../../store/journal-line.ts'
import { JournalReader } from '../../store/journal-reader.ts'
import type { Story } from '../../view/story.ts'
import type { WorkFile } from '../work/export-work.ts'

/** What the archive leaves out for a caller without full rights. Default: nothing. */
export interface ExportOptions {
  /** Replaces the creation record by the one that the caller may see. */
  tell?: (creation: CreationRecord) => CreationRecord
  stderr?: boolean
}

export interface InstanceToExport extends ExportOptions {
  paths: InstancePaths
  record: InstanceRecord
  story: Story
  /** Where the payloads of answers and messages are. */
  inbox: Inbox
  state: Record<string, unknown> | null
  /** Its repositories as bundles and patches. */
  work: () => AsyncIterable<WorkFile>
}

/** The gzip'd bytes of the archive. No file in it has secrets: `config.json` is left out. */
export function exportInstance(instance: InstanceToExport): AsyncIterable<Buffer> {
  const zip = createGzip()
  // Each end closes the other: a reader that disconnects closes the journal, and an error here reaches the reader.
  pipeline(Readable.from(tar(entriesOf(instance))), zip, () => undefined)
  return zip
}

async function* entriesOf({
  paths,
  record,
  story,
  inbox,
  state,
  work,
  tell,
  stderr = true,
}: InstanceToExport): AsyncGenerator<TarEntry> {
  const { instance_id } = story.creation
  const modifiedMs = Date.parse(story.lastEventAt)
  const folder = `resolve-${instance_id}`
  const text = (path: string, content: string): TarEntry => {
    const bytes = Buffer.from(content)
    return { path: `${folder}/${path}`, bytes: bytes.length, modifiedMs, content: [bytes] }
  }
  const json = (path: string, value: unknown) => text(path, `${JSON.stringify(value, null, 2)}\n`)

  yield json('record.json', record)
  for (const { path, of } of JOURNALS) {
    const parts = () => partsUpTo(paths.journal, story.lastSeq, (line) => of(told(line, tell)))
    const bytes = await inTurns(sizeOf(parts()), PART_A_TURN)
    yield { path: `${folder}/${path}`, bytes, modifiedMs, content: inParts(parts()) }
  }
  if (state !== null) yield json('state.json', state)
  yield* intentsOf(inbox, story, json)
  if (stderr) yield text('stderr', readStderrTail(paths))
  const log = stderr ? wholeLog(paths.log) : ''
  if (log !== '') yield text('log', log)
  for await (const { path, bytes, content } of work()) {
    yield { path: `${folder}/git/${path}`, bytes, modifiedMs, content }
  }
  for (const file of await dataOf(paths)) {
    try {
      const { bytes, modifiedMs: at, read } = openData(paths, file.path)
      yield { path: `${folder}/data/${file.path}`, bytes, modifiedMs: at, content: read(0, bytes) }
    } catch {
      // The file was removed, or replaced by something that is not a file, after it was listed.
    }
  }
}

/** All that is kept of the log, as text with times in UTC; its size is bounded. */
function wholeLog(path: string): string {
  let all = ''
  for (let after = 0; ; ) {
    const { lines, next } = readLog(path, { after, limit: LOG_PAGE_MAX_LINES })
    if (lines.length === 0) return all
    for (const { at, source, level, text } of lines) all += `${at} ${level ?? source} ${text}\n`
    after = next
  }
}

/** If a resolver replaced its data directory by something else, there is no data to export. */
async function dataOf(paths: InstancePaths): Promise<ListedFile[]> {
  try {
    return await listData(paths)
  } catch (error) {
    if (error instanceof ResolveError && error.code === 'coordination_tampered') return []
    throw error
  }
}

/**
 * Input requests with their answers, and messages, as the host accepted them; not the copies in `.resolve/`, which a resolver
 * can change.
 */
function* intentsOf(inbox: Inbox, story: Story, json: (path: string, value: unknown) => TarEntry): Generator<TarEntry> {
  for (const request of story.requests) {
    const answer = inbox.answer(request.id)
    yield json(requestFile(request.id), { ...request, answer: answer === undefined ? null : readPayload(answer) })
  }
  for (const message of story.messages) {
    const kept = inbox.message(message.number)
    yield json(messageFile(message.number), { ...message, payload: kept === undefined ? null : readPayload(kept) })
  }
}

const JOURNALS: readonly { path: string; of: (line: JournalLine) => string | undefined }[] = [
  { path: 'journal', of: ({ seq, sourceEnd, text }) => `${prefixOf(seq, sourceEnd)}${text}\n` },
  { path: 'events.jsonl', of: ({ seq, text }) => (seq === 0 ? undefined : `${text}\n`) },
]

/** The first line is the creation record. */
function told(line: JournalLine, tell: ExportOptions['tell']): JournalLine {
  if (line.seq !== 0 || tell === undefined) return line
  return { ...line, text: JSON.stringify(tell(JSON.parse(line.text) as CreationRecord)) }
}

/** After each part of a journal other work gets its turn, however fast it was read. */
const PART_A_TURN = 0

/** Counted before the first byte of the file, because its header tells the size. */
function* sizeOf(parts: Iterable<Buffer>): Generator<void, number> {
  let bytes = 0
  for (const part of parts) {
    bytes += part.length
    yield
  }
  return bytes
}

async function* inParts(parts: Iterable<Buffer>): AsyncGenerator<Buffer> {
  for (const part of parts) {
    yield part
    await setImmediate()
  }
}

/** The lines up to a sequence number, read by read, so that both files describe the same state although the journal grows meanwhile. */
function* partsUpTo(
  journal: string,
  lastSeq: number,
  of: (line: JournalLine) => string | undefined,
): Generator<Buffer> {
  const reader = new JournalReader(journal, -1)
  try {
    for (let lines = reader.read(); lines.length > 0; lines = reader.read()) {
      let part = ''
      for (const line of lines) if (line.seq <= lastSeq) part += of(line) ?? ''
      yield Buffer.from(part)
      if ((lines.at(-1)?.seq ?? 0) >= lastSeq) return
    }
  } finally {
    reader.close()
  }
}
