/** Shows how long ago a moment was, with the exact time as tooltip. */
import { agoText } from '../../core/view/time-words.ts'
import { useNow } from './use-now.ts'

export function Ago({ at }: { at: string }) {
  const now = useNow()
  return (
    <time dateTime={at} title={exactly(at)}>
      {agoText(at, Math.max(now, Date.parse(at)))}
    </time>
  )
}

export function exactly(at: string): string {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? at : date.toLocaleString()
}
