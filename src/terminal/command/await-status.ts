/** Waits on an instance's journal until it stands where the caller wants it. */
import type { FollowOptions, Platform } from '../../core/index.ts'
import { isTerminal } from '../../core/protocol/status.ts'
import type { Story } from '../../core/view/story.ts'
import { tell } from '../../core/view/story.ts'

export type Until = (story: Story) => boolean

export const untilTerminal: Until = (story) => isTerminal(story.status)

/** Nothing moves without somebody: ended, paused, or a question is open. */
export const untilSettled: Until = (story) =>
  isTerminal(story.status) || story.status === 'paused' || story.status === 'awaiting_input'

/** The story once `until` holds, or as it stands when the signal comes first or the journal ends. */
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
      tell(story, event.seq, event.event)
      if (until(story)) break
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return story
}
