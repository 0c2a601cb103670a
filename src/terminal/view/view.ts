/** The interface of the views of a run, and the views without Ink. {@link file://./../live/open-live-view.tsx} is the one with Ink. */
import type { Connection } from '../../core/index.ts'
import type { JournalEvent } from '../../core/protocol/journal.ts'
import { progressLine } from '../../core/view/event-words.ts'
import type { Story } from '../../core/view/story.ts'
import { clockText } from '../../core/view/time-words.ts'
import { connectionLine } from '../output/connection.ts'
import type { Output } from '../output/output.ts'

/** Actions on the followed run, triggered by keys of the live view or a closed pipe. */
export interface Controls {
  detach(): void
  /** Asks for a pause; what the platform answers is shown as a note. */
  pause(): void
  stop(): void
  force(): void
}

export interface View {
  /** Shows an event; `story` includes it. Resolves when the reader is ready for the next one. */
  event(event: JournalEvent, story: Story): Promise<void> | void
  /** Shows a sentence that is not an event. */
  note(line: string): void
  /** Called when the connection to the server is lost or back. */
  connection(connection: Connection): void
  /** Hides the view while a form uses the terminal, and shows it again. */
  hide(): Promise<void>
  show(): Promise<void>
  end(): Promise<void>
}

const nothing = () => Promise.resolve()

/** Prints a line for each change; for views that only append. */
export function noteConnection(output: Output): View['connection'] {
  return (connection) => output.note(connectionLine(connection, Date.now()))
}

/** Appends lines to stderr: in a pipe or CI with their local times, as in a log; on a terminal (for a screen reader) without. */
export function plainView(output: Output): View {
  return {
    event: ({ event }) => {
      const line = progressLine(event)
      if (line !== null) output.note(process.stderr.isTTY ? line : `${clockText(event.timestamp)} ${line}`)
    },
    note: (line) => output.note(line),
    connection: noteConnection(output),
    hide: nothing,
    show: nothing,
    end: nothing,
  }
}

/** For `--json`: prints the steps of a setup, which can take minutes, and connection changes; the result is the document at the end. */
export function silentView(output: Output): View {
  return {
    event: ({ event }) => {
      const line = event.event_type === 'platform.setup.progress' ? progressLine(event) : null
      if (line !== null) output.note(line)
    },
    note: () => undefined,
    connection: noteConnection(output),
    hide: nothing,
    show: nothing,
    end: nothing,
  }
}

/** For `--jsonl`: prints every envelope exactly as it is in the journal. */
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
