/** The props of every tab of an instance. */
import type { LiveInstance } from './instance-live.ts'

export interface TabProps {
  id: string
  live: LiveInstance
}
