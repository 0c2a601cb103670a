/** The status history as a bar: the width of each status is its duration. */
import { isTerminal } from '../../../../core/protocol/status.ts'
import { STATUS_WORDS } from '../../../../core/view/status-words.ts'
import type { Story } from '../../../../core/view/story.ts'
import { durationText } from '../../../../core/view/time-words.ts'
import { useNow } from '../../../parts/use-now.ts'

const SHOWN_MAX = 40

export function StatusHistory({ story: { history, status, endedAt } }: { story: Story }) {
  const now = useNow()
  const end = isTerminal(status) ? Date.parse(endedAt ?? '') : now
  const spans = history.slice(-SHOWN_MAX).map((change, at, all) => {
    const until = Date.parse(all[at + 1]?.at ?? '') || end
    return { ...change, ms: Math.max(0, until - Date.parse(change.at)), isLast: at === all.length - 1 }
  })
  return (
    <ol className="history" aria-label="Status history">
      {spans.map(({ status, reason, ms, isLast, at }, index) => {
        const { shape, word } = STATUS_WORDS[status]
        const lasted = isLast && isTerminal(status) ? '' : ` ${durationText(ms)}`
        const why = reason === null ? '' : ` (${reason})`
        return (
          <li
            key={`${index} ${at}`}
            data-status={status}
            title={`${word}${lasted}${why}`}
            style={{ flexGrow: isLast && isTerminal(status) ? 0 : Math.max(1, Math.sqrt(ms)) }}
          >
            <span aria-hidden="true">{shape}</span>
            <span className="history-word">
              {word}
              {lasted}
            </span>
            <span className="out-of-sight">{why}</span>
          </li>
        )
      })}
    </ol>
  )
}
