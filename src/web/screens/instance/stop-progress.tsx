/** How far a stop is while the worker does not end, and the button that kills the worker at once (R57). */
import { stopWords } from '../../../core/view/stop-words.ts'
import type { StoryStop } from '../../../core/view/story.ts'
import { useNow } from '../../parts/use-now.ts'

interface StopProgressProps {
  stop: StoryStop
  mayAct: boolean
  onForce: () => void
}

export function StopProgress({ stop, mayAct, onForce }: StopProgressProps) {
  const words = stopWords(stop, useNow())
  return (
    <span className="actions">
      <span className="quiet">{`${words.charAt(0).toUpperCase()}${words.slice(1)}.`}</span>
      {!stop.force && mayAct && (
        <button type="button" className="button button-danger" onClick={onForce}>
          Kill it now
        </button>
      )}
    </span>
  )
}
