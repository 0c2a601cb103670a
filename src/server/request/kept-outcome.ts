/**
 * Answers a retry of a pause, resume or stop whose first try got no answer: the retry is not refused because the first try
 * took effect (R11).
 */
import type { FastifyRequest } from 'fastify'
import { ResolveError } from '../../core/errors.ts'
import type { InstanceRecord, Platform, Status } from '../../core/index.ts'

/** The statuses that each action leads to. */
const LEADS_TO = { pause: ['paused'], resume: ['running'], stop: ['cancelled'] } as const satisfies Record<
  string,
  readonly Status[]
>

interface Asked {
  request: FastifyRequest
  platform: Platform
  id: string
  action: keyof typeof LEADS_TO
}

export async function keptOutcome(
  { request: { held }, platform, id, action }: Asked,
  act: () => Promise<InstanceRecord>,
): Promise<InstanceRecord> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof ResolveError) || error.code !== 'invalid_state' || held?.isRetry !== true) throw error
    const { history } = await platform.story(id)
    const wanted: readonly Status[] = LEADS_TO[action]
    if (!history.some(({ status, at }) => wanted.includes(status) && at >= held.since)) throw error
    return await platform.record(id)
  }
}
