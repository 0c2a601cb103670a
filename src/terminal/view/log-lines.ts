/** Formats a line of a log for the terminal: `10:31:07.042 stderr   text`. The text is not cleaned here. */
import type { LogLine } from '../../core/protocol/log.ts'
import { logText } from '../../core/view/log-words.ts'

export function logLine(line: LogLine): string {
  const text = logText(line)
  return text.endsWith('\n') ? text.slice(0, -1) : text
}
