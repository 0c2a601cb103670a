/**
 * Reads a journal in one pass into its two projections: the story, which every reader may see, and the inbox, which only the
 * host uses.
 */
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { READ_SLICE_MS } from '../limits.ts'
import { atOnce, inTurns } from '../primitives/in-turns.ts'
import type { AdmissionMark } from '../protocol/journal.ts'
import { applyEvent, beginStory, type Story, tellStop } from '../view/story.ts'
import { Inbox } from './inbox.ts'
import type { JournalEnd, JournalLine } from './journal-line.ts'
import { JournalReader, type PlacedPrivate, readCreationRecord, readEnvelope } from './journal-reader.ts'
import { hasMailboxLayout, readMailboxLayout } from './mailbox-layout.ts'

export interface JournalProjection {
  story: Story
  inbox: Inbox
}

/**
 * Both projections of the whole journal; for an instance of an earlier version, with the files beside its journal. A damaged private
 * line is passed over and counted ({@link Inbox.damaged}): what the events tell stays readable. Throws `journal_broken`.
 */
export function readJournal(journal: string): JournalProjection {
  const projector = new JournalProjector(journal)
  atOnce(projector.catchUp())
  return projector.projection()
}

/** As {@link readJournal}, and the event loop serves others meanwhile. */
export async function readJournalInTurns(journal: string): Promise<JournalProjection> {
  return (await projectInTurns(journal)).projection()
}

/** A projector that has read the journal to its end; the event loop served others meanwhile. Throws `journal_broken`. */
export async function projectInTurns(journal: string): Promise<JournalProjector> {
  const projector = new JournalProjector(journal)
  await inTurns(projector.catchUp(), READ_SLICE_MS)
  return projector
}

/** Builds both projections of a journal part by part, and continues where it stopped when the journal has grown. */
export class JournalProjector {
  readonly #journal: string
  readonly #story: Story
  readonly #inbox = new Inbox()
  #ino: number | undefined
  #offset: number | undefined
  #lastSeq = 0
  #sourceEnd = 0
  #isGapless = true

  /** Throws `journal_broken`. */
  constructor(journal: string) {
    this.#journal = journal
    this.#story = beginStory(readCreationRecord(journal))
  }

  /** Whether the journal is still the file that was read, and not shorter. */
  get isCurrent(): boolean {
    const stat = statSync(this.#journal, { throwIfNoEntry: false })
    return stat !== undefined && stat.ino === this.#ino && stat.size >= (this.#offset ?? 0)
  }

  /** Up to where it has read, as the position from which a host goes on. */
  get end(): JournalEnd {
    return { offset: this.#offset ?? 0, seq: this.#lastSeq, sourceEnd: this.#sourceEnd }
  }

  /** Whether no number was missing so far. */
  get isGapless(): boolean {
    return this.#isGapless
  }

  /** Reads to the current end; pauses after each part. Throws `journal_broken`. */
  *catchUp(): Generator<void> {
    const reader = new JournalReader(this.#journal, 0, this.#offset)
    try {
      this.#ino = reader.ino
      this.#offset = reader.offset
      for (let lines = reader.readAll(); lines.length > 0; lines = reader.readAll()) {
        for (const line of lines) this.#apply(line)
        this.#offset = reader.offset
        yield
      }
    } finally {
      reader.close()
    }
  }

  /** The same objects each time: they change with the next reading. */
  projection(): JournalProjection {
    const [story, inbox] = [this.#story, this.#inbox]
    if (!inbox.isImported) takeMailboxLayout(dirname(this.#journal), inbox)
    tellStop(story, inbox.toldStop)
    if (inbox.name !== undefined) story.creation.name = inbox.name
    if (inbox.labels !== undefined) story.creation.labels = inbox.labels
    if (inbox.admission !== undefined) applyAdmission(story, inbox.admission)
    return { story, inbox }
  }

  #apply(line: JournalLine | PlacedPrivate): void {
    if (!('seq' in line)) {
      this.#inbox.note(line)
      return
    }
    if (line.seq !== this.#lastSeq + 1) this.#isGapless = false
    this.#lastSeq = line.seq
    this.#sourceEnd = line.sourceEnd ?? this.#sourceEnd
    const event = readEnvelope(this.#journal, line)
    applyEvent(this.#story, line.seq, event)
    this.#inbox.applyEvent(event)
  }
}

/** The input was checked after the setup: the creation gets it, without the values of secret fields, and what the resolver wants for it. */
export function applyAdmission({ creation }: Story, mark: AdmissionMark): void {
  const { accepted, environment, container, input, secret_fields: secret } = mark
  Object.assign(creation, { input, environment, unchecked: !accepted })
  if (container !== null) creation.container = container
  if (mark.workspace !== undefined) creation.workspace = mark.workspace
  if (secret.length > 0) creation.secret_fields = secret
}

/** The story of the whole journal, with the instance's current name. Throws `journal_broken`. */
export function readStory(journal: string): Story {
  return readJournal(journal).story
}

/** As {@link readStory}, and the event loop serves others meanwhile. */
export async function readStoryInTurns(journal: string): Promise<Story> {
  return (await readJournalInTurns(journal)).story
}

function takeMailboxLayout(root: string, inbox: Inbox): void {
  if (!hasMailboxLayout(root)) return
  for (const { line, place } of readMailboxLayout(root)) inbox.take(line.kind, line, place)
}
