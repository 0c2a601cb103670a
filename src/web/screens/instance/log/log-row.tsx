/** One line of a log: its time, its source or level, and its text with the colours that the worker gave it. */
import type { LogLine } from '../../../../core/protocol/log.ts'
import { logLabel } from '../../../../core/view/log-words.ts'
import { clockText } from '../../../../core/view/time-words.ts'
import { ansiParts } from './ansi.ts'

export function LogRow({ line }: { line: LogLine }) {
  const label = logLabel(line)
  return (
    <div className="log-line" data-n={line.n} data-label={label}>
      <time dateTime={line.at}>{clockText(line.at, true)}</time>
      <span className="log-label">{label}</span>
      <span className="log-text">
        {ansiParts(line.text.trimEnd()).map(({ text, classes }, at) => (
          <span key={`${at}`} className={classes === '' ? undefined : classes}>
            {text}
          </span>
        ))}
      </span>
    </div>
  )
}
