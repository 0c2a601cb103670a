/** Tier 1 events are stable across releases: what was published stays. An addition is written down here, a removal breaks readers. */
import { expect, test } from 'vitest'
import { PLATFORM_EVENTS } from '../../src/core/protocol/event.ts'

const PUBLISHED = [
  'platform.container.creating',
  'platform.setup.starting',
  'platform.setup.progress',
  'platform.setup.completed',
  'platform.setup.failed',
  'platform.worker.launched',
  'platform.worker.ready',
  'platform.worker.failed',
  'platform.worker.adopted',
  'platform.instance.status_changed',
  'platform.input.requested',
  'platform.input.answered',
  'platform.message.accepted',
  'platform.watchdog.warning',
  'platform.event.rejected',
  'platform.egress.denied',
]

test('no event of tier 1 is removed or renamed (S-VER-04)', () => {
  expect(PUBLISHED.filter((type) => !PLATFORM_EVENTS.some((known) => known === type))).toEqual([])
})
