/** Replaces a file of the coordination directory as a whole; everything that a run writes besides its events goes through it. */
import { writeWholeSync } from '../../core/files/write-whole.ts'

/** Throws the system's error; the old file is then unchanged. `durable`: content and name are on disk when it returns. */
export function replaceFile(path: string, data: string | Uint8Array, durable = false): void {
  writeWholeSync(path, data, { mode: 0o644, durable, draftId: nextDraftId })
}

let drafts = 0

/** Process, time and count: the name only has to be free, and Node's crypto would take longer to load than the whole SDK. */
function nextDraftId(): string {
  drafts += 1
  return `${hex(process.pid, 8)}${hex(Date.now(), 12)}${hex(drafts % 0x10000, 4)}`
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}
