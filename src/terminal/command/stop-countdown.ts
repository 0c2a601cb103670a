/** Tells on stderr how far a stop is while the worker does not end: for `instance stop` and `instance cancel` (R57). */
import { STOP_LIMIT_MS, TERM_LIMIT_MS } from '../../core/limits.ts'
import { stopWords } from '../../core/view/stop-words.ts'
import type { StoryStop } from '../../core/view/story.ts'
import type { Output } from '../output/output.ts'
import { commandLine } from '../output/shell.ts'

/** Most workers end sooner, and nothing is to be said. */
const FIRST_WORDS_MS = 2_000
const REPEAT_MS = 10_000

/** Returns the function that ends it. */
export function startStopCountdown(output: Output, id: string, stop: StoryStop | undefined): () => void {
  if (stop === undefined) return () => {}
  // By this machine's clock from now on: the server's may differ.
  const told: StoryStop = { ...stop, requested_at: new Date().toISOString() }
  const moments = [FIRST_WORDS_MS]
  for (let at = REPEAT_MS; at <= STOP_LIMIT_MS + TERM_LIMIT_MS; at += REPEAT_MS) moments.push(at)
  const timers = moments.map((ms, index) =>
    setTimeout(() => {
      const force = commandLine('instance', 'stop', id, '--force')
      const hint = index === 0 && !stop.force ? ` "${force}" kills it at once.` : ''
      output.note(`${id}: ${stopWords(told, Date.now())}.${hint}`)
    }, ms),
  )
  for (const timer of timers) timer.unref()
  return () => {
    for (const timer of timers) clearTimeout(timer)
  }
}
