/** Shows a status as word, shape and colour, as in the terminal. */
import type { QueuePlace } from '../../core/protocol/instance.ts'
import type { Status } from '../../core/protocol/status.ts'
import { standingWord } from '../../core/view/status-words.ts'

export function StatusMark({ status, queue }: { status: Status; queue?: QueuePlace | null | undefined }) {
  const { shape, word } = standingWord({ status, queue })
  return (
    <span className="status" data-status={status}>
      <span className="status-shape" aria-hidden="true">
        {shape}
      </span>
      {word}
    </span>
  )
}
