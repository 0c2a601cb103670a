/** What each tab of an instance is given. */
import type { LiveInstance } from './instance-live.ts'

export interface TabProps {
  id: string
  live: LiveInstance
}
