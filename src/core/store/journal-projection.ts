/**
 * Reads a journal in one pass into its two projections: the story, which every reader may see, and the inbox, which only the
 * host uses.
 */
import { dirname } from 'node:path'
import type { AdmissionMark } from '../protocol/journal.ts'
import { applyEvent, beginStory, type Story, tellStop } from '../view/story.ts'
import { Inbox } from './inbox.ts'
import { JournalReader, readCreationRecord, readEnvelope } from './journal-reader.ts'
import { hasMailboxLayout, readMailboxLayout } from './mailbox-layout.ts'

export interface JournalProjection {
  story: Story
  inbox: Inbox
}

/**
 * Both projections of the whole journal; for an instance of an earlier version, with the files beside its journal. Throws
 * `journal_broken`.
 */
export function readJournal(journal: string): JournalProjection {
  const story = beginStory(readCreationRecord(journal))
  const inbox = new Inbox()
  const reader = new JournalReader(journal, 0)
  try {
    for (let lines = reader.readAll(); lines.length > 0; lines = reader.readAll()) {
      for (const line of lines) {
        if (!('seq' in line)) {
          inbox.note(line)
          continue
        }
        const event = readEnvelope(journal, line)
        applyEvent(story, line.seq, event)
        inbox.applyEvent(event)
      }
    }
  } finally {
    reader.close()
  }
  if (!inbox.isImported) takeMailboxLayout(dirname(journal), inbox)
  tellStop(story, inbox.toldStop)
  if (inbox.name !== undefined) story.creation.name = inbox.name
  if (inbox.admission !== undefined) applyAdmission(story, inbox.admission)
  return { story, inbox }
}

/** The input was checked after the setup: the creation gets it, without the values of secret fields, and what the resolver wants for it. */
export function applyAdmission({ creation }: Story, mark: AdmissionMark): void {
  const { accepted, environment, container, input, secret_fields: secret } = mark
  Object.assign(creation, { input, environment, unchecked: !accepted })
  if (container !== null) creation.container = container
  if (secret.length > 0) creation.secret_fields = secret
}

/** The story of the whole journal, with the instance's current name. Throws `journal_broken`. */
export function readStory(journal: string): Story {
  return readJournal(journal).story
}

function takeMailboxLayout(root: string, inbox: Inbox): void {
  if (!hasMailboxLayout(root)) return
  for (const { line, place } of readMailboxLayout(root)) inbox.take(line.kind, line, place)
}
