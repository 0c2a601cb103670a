/** Shows a status as word, shape and colour, as in the terminal. */
import type { Status } from '../../core/protocol/status.ts'
import { STATUS_WORDS } from '../../core/view/status-words.ts'

export function StatusMark({ status }: { status: Status }) {
  const { shape, word } = STATUS_WORDS[status]
  return (
    <span className="status" data-status={status}>
      <span className="status-shape" aria-hidden="true">
        {shape}
      </span>
      {word}
    </span>
  )
}
