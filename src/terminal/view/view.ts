/** What shows a run on its way: one contract, and its voices without Ink. {@link file://./../live/open-live-view.tsx} is the one with. */
import type { Connection } from '../../core/index.ts'
import type { JournalEvent } from '../../core/protocol/journal.ts'
import { progressLine } from '../../core/view/event-words.ts'
import type { Story } from '../../core/view/story.ts'
import { connectionLine } from '../output/connection.ts'
import type { Output } from '../output/output.ts'

/** Ways to let go of a run: keys of the live view, a closed pipe. */
export interface Controls {
  detach(): void
  stop(): void
  force(): void
}

export interface View {
  /** An event, and the story with it told. Waits where its reader is slower. */
  event(event: JournalEvent, story: Story): Promise<void> | void
  /** A sentence beside the events. */
  note(line: string): void
  /** The connection to the server is lost, or back. */
  connection(connection: Connection): void
  /** Makes room for a question, and takes it again. */
  hide(): Promise<void>
  show(): Promise<void>
  end(): Promise<void>
}

const nothing = () => Promise.resolve()

/** A line for each change, for every view that only appends. */
export function noteConnection(output: Output): View['connection'] {
  return (connection) => output.note(connectionLine(connection, Date.now()))
}

/** Append-only lines on stderr: a pipe, CI. */
export function plainView(output: Output): View {
  return {
    event: ({ event }) => {
      const line = progressLine(event)
      if (line !== null) output.note(line)
    },
    note: (line) => output.note(line),
    connection: noteConnection(output),
    hide: nothing,
    show: nothing,
    end: nothing,
  }
}

/** `--json`: the document at the end says it all, but not yet why it does not come. */
export function silentView(output: Output): View {
  return {
    event: () => undefined,
    note: () => undefined,
    connection: noteConnection(output),
    hide: nothing,
    show: nothing,
    end: nothing,
  }
}

/** `--jsonl`: every envelope exactly as it stands in the journal. */
export function jsonlView(output: Output): View {
  return {
    event: ({ text }) => output.raw(`${text}\n`),
    note: (line) => output.note(line),
    connection: noteConnection(output),
    hide: nothing,
    show: nothing,
    end: nothing,
  }
}
