/**
 * Follows an instance for `run`, `resume` and `watch`: reads the journal, shows its events, handles input requests, and leaves
 * the instance as docs/cli.md describes. Decides the exit code; {@link file://./finish.ts} prints the end.
 */
import type { Platform } from '../../core/index.ts'
import { within } from '../../core/primitives/within.ts'
import { isTerminal } from '../../core/protocol/status.ts'
import { cleanText } from '../../core/view/clean.ts'
import type { Story } from '../../core/view/story.ts'
import { applyEvent } from '../../core/view/story.ts'
import { type CaughtSignal, meaningOf, onSignals } from '../command/signals.ts'
import type { RequestHandler } from '../input/answer-requests.ts'
import { isConnectionError, lostError, trackConnection } from '../output/connection.ts'
import type { LeftReason } from '../output/documents.ts'
import { EXIT, type ExitCode, exitCodeOf } from '../output/exit-codes.ts'
import type { Controls, View } from '../view/view.ts'

export interface FollowPlan {
  platform: Platform
  id: string
  view: View
  /** The story up to `story.lastSeq`; the journal is followed from there. */
  story: Story
  /** Events with a smaller number are not shown (`--since`). */
  showFrom: number
  /** Events before this number are history: they open no form and do not end the command. */
  actFrom: number
  /** Handles input requests. */
  requests: RequestHandler
  timeoutMs?: number
  /** Whether a signal stops the instance (`run` and `resume` in CI); otherwise it only ends following. */
  stopOnSignal: boolean
  /** Receives the functions that detach, stop and force: for keys of the live view and a closed pipe. */
  controls?: (controls: Controls) => void
  /** The log that is shown beside the events; ended before the view. */
  log?: { end(isOver: boolean): Promise<void> } | undefined
}

export interface FollowEnd {
  story: Story
  exitCode: ExitCode
  reason: 'done' | LeftReason
  /** The error that ended following, if any: an invalid answer, an unreachable server. */
  error?: unknown
}

/**
 * Limits after a signal in CI: the stop is forced; following ends; the result is printed even if no background host has taken
 * over yet. So the document is printed within 7 s.
 */
const CI_FORCE_MS = 4_000
const CI_GIVE_UP_MS = 5_500
const CI_DEADLINE_MS = 6_300

interface Cause {
  reason: LeftReason
  exitCode: ExitCode
  error?: unknown
}

/** Follows until the instance ends or pauses, or following is ended; in the last case a background host takes over. */
export async function follow(plan: FollowPlan): Promise<FollowEnd> {
  const { platform, id, story, view } = plan
  const abort = new AbortController()
  let cause: Cause | undefined
  const connection = trackConnection((changed) => view.connection(changed))
  let signalled: CaughtSignal | undefined
  let deadline = Number.POSITIVE_INFINITY
  const timers: NodeJS.Timeout[] = []
  const later = (ms: number, then: () => void) => timers.push(setTimeout(then, ms))
  const leave = (why: Cause) => {
    cause ??= why
    abort.abort()
  }
  const swallow = (promise: Promise<unknown>) =>
    void promise.catch((error) => view.note(cleanText(error instanceof Error ? error.message : String(error))))

  const stop = (force: boolean) => swallow(platform.stop(id, { reason: 'interrupted', force }))
  const onSignal = (signal: CaughtSignal) => {
    if (signal === 'SIGHUP' || !plan.stopOnSignal) return leave(meaningOf(signal))
    if (signalled !== undefined) return stop(true)
    signalled = signal
    deadline = Date.now() + CI_DEADLINE_MS
    view.note('Stopping; a second signal forces it.')
    stop(false)
    later(CI_FORCE_MS, () => stop(true))
    later(CI_GIVE_UP_MS, () => leave(meaningOf(signal)))
  }
  const stopListening = onSignals(onSignal)
  if (plan.timeoutMs !== undefined) later(plan.timeoutMs, () => leave({ reason: 'timeout', exitCode: EXIT.timeout }))
  plan.controls?.({
    detach: () => leave({ reason: 'detached', exitCode: EXIT.ok }),
    pause: () => swallow(platform.pause(id)),
    stop: () => stop(false),
    force: () => stop(true),
  })

  const settle = async () => {
    if (story.lastSeq < plan.actFrom) return
    if (story.status === 'paused') leave({ reason: 'paused', exitCode: EXIT.paused })
    else await plan.requests.handle(story, leave)
  }

  try {
    await settle()
    if (!abort.signal.aborted) {
      const options = { after: story.lastSeq, follow: true, signal: abort.signal, onConnection: connection.update }
      for await (const event of platform.events(id, options)) {
        applyEvent(story, event.seq, event.event)
        if (event.seq >= plan.showFrom) await view.event(event, story)
        if (isTerminal(story.status) && story.lastSeq >= plan.actFrom) break
        await settle()
        if (abort.signal.aborted) break
      }
    }
  } catch (error) {
    if (!abort.signal.aborted) {
      if (!isConnectionError(error)) throw error
      const lost = lostError(error, { since: connection.lostSince(), id })
      cause = { reason: 'connection_lost', exitCode: EXIT.unavailable, error: lost }
    }
  } finally {
    stopListening()
    for (const timer of timers) clearTimeout(timer)
    await plan.log?.end(isTerminal(story.status))
    await plan.requests.end()
    await view.end()
  }
  return settled(plan, cause, signalled, deadline)
}

async function settled(
  plan: FollowPlan,
  cause: Cause | undefined,
  signalled: CaughtSignal | undefined,
  deadline: number,
): Promise<FollowEnd> {
  const { story } = plan
  if (isTerminal(story.status)) {
    const exitCode = signalled === undefined ? exitCodeOf(story.status) : meaningOf(signalled).exitCode
    return { story, exitCode, reason: 'done' }
  }
  const why: Cause = cause ?? { reason: 'no_host', exitCode: EXIT.unavailable }
  if (why.reason !== 'paused') await handOver(plan, deadline)
  return { story, exitCode: why.exitCode, reason: why.reason, ...(why.error === undefined ? {} : { error: why.error }) }
}

/** Hands the instance to a background host. After `deadline` (ms since 1970) the handover continues, and `platform.close` waits for it. */
async function handOver({ platform, id }: FollowPlan, deadline: number): Promise<void> {
  const leaving = platform.leave(id)
  if (deadline === Number.POSITIVE_INFINITY) return await leaving
  const handedOver = leaving.catch(() => undefined)
  // The result is printed in time; a failed handover is reported when the platform closes.
  await within(Math.max(0, deadline - Date.now()), handedOver)
}
