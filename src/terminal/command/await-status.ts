/** Follows an instance's journal until the instance reaches a status. Used by `wait`, `pause`, `stop` and `cancel`. */
import type { FollowOptions, Platform } from '../../core/index.ts'
import { isTerminal } from '../../core/protocol/status.ts'
import type { Story } from '../../core/view/story.ts'
import { applyEvent } from '../../core/view/story.ts'

export type Until = (story: Story) => boolean

export const untilTerminal: Until = (story) => isTerminal(story.status)

/** The instance has ended, is paused or waits for an answer: it makes no progress until a consumer acts. */
export const untilSettled: Until = (story) =>
  isTerminal(story.status) || story.status === 'paused' || story.status === 'awaiting_input'

/** Returns the story as soon as `until` holds, or the current one when the signal aborts or the journal ends first. */
export async function awaitStatus(
  platform: Platform,
  id: string,
  until: Until,
  signal: AbortSignal,
  onConnection: FollowOptions['onConnection'] = () => {},
): Promise<Story> {
  const story = await platform.story(id)
  if (until(story) || signal.aborted) return story
  try {
    const options = { after: story.lastSeq, follow: true, signal, onConnection }
    for await (const event of platform.events(id, options)) {
      applyEvent(story, event.seq, event.event)
      if (until(story)) break
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return story
}
