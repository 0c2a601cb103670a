/**
 * The story of `run`, `resume` and `watch`: follow the journal, show it, deal with each question, and let go of the
 * instance in one of the ways of docs/cli.md. Decides the exit code; {@link file://./finish.ts} tells the end.
 */
import type { Platform } from '../../core/index.ts'
import { isTerminal } from '../../core/protocol/status.ts'
import { cleanText } from '../../core/view/clean.ts'
import type { Story } from '../../core/view/story.ts'
import { tell } from '../../core/view/story.ts'
import { type CaughtSignal, meaningOf, onSignals } from '../command/signals.ts'
import type { Questions } from '../input/answer-requests.ts'
import { connectionEar, isConnectionError, lostError } from '../output/connection.ts'
import type { LeftReason } from '../output/documents.ts'
import { EXIT, type ExitCode, exitCodeOf } from '../output/exit-codes.ts'
import type { Controls, View } from '../view/view.ts'

export interface FollowPlan {
  platform: Platform
  id: string
  view: View
  /** Told up to `story.lastSeq`; the journal is followed from there. */
  story: Story
  /** Events with a smaller number are shown no more (`--since`). */
  showFrom: number
  /** History before this number neither asks nor ends: it was so, and is no longer. */
  settleFrom: number
  /** What a question that opens is met with. */
  questions: Questions
  timeoutMs?: number
  /** Whether a signal may stop the instance (`run`, `resume` in CI), or only leaves it. */
  stopOnSignal: boolean
  /** Gives the caller ways to let go: keys of the live view, a closed pipe. */
  controls?: (controls: Controls) => void
}

export interface FollowEnd {
  story: Story
  exitCode: ExitCode
  reason: 'done' | LeftReason
  /** Why it was left, where that has its own error (an answer that is not valid, a server that is gone). */
  error?: unknown
}

/**
 * A stop by signal in CI: forced after the first, let go of after the second, and told as it stands after the third, whether or
 * not a host in the background has taken over by then. The document is out within 7 s.
 */
const CI_FORCE_MS = 4_000
const CI_GIVE_UP_MS = 5_500
const CI_TELL_MS = 6_300

interface Cause {
  reason: LeftReason
  exitCode: ExitCode
  error?: unknown
}

/** Follows until the instance ends, pauses or is let go of; in that last case it is handed to a host of its own. */
export async function follow(plan: FollowPlan): Promise<FollowEnd> {
  const { platform, id, story, view } = plan
  const abort = new AbortController()
  let cause: Cause | undefined
  const connection = connectionEar((changed) => view.connection(changed))
  let signalled: CaughtSignal | undefined
  let tellAt = Number.POSITIVE_INFINITY
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
    tellAt = Date.now() + CI_TELL_MS
    view.note('Stopping; a second signal forces it.')
    stop(false)
    later(CI_FORCE_MS, () => stop(true))
    later(CI_GIVE_UP_MS, () => leave(meaningOf(signal)))
  }
  const stopListening = onSignals(onSignal)
  if (plan.timeoutMs !== undefined) later(plan.timeoutMs, () => leave({ reason: 'timeout', exitCode: EXIT.timeout }))
  plan.controls?.({
    detach: () => leave({ reason: 'detached', exitCode: EXIT.ok }),
    stop: () => stop(false),
    force: () => stop(true),
  })

  const settle = async () => {
    if (story.lastSeq < plan.settleFrom) return
    if (story.status === 'paused') leave({ reason: 'paused', exitCode: EXIT.paused })
    else await plan.questions.meet(story, leave)
  }

  try {
    await settle()
    if (!abort.signal.aborted) {
      const options = { after: story.lastSeq, follow: true, signal: abort.signal, onConnection: connection.hear }
      for await (const event of platform.events(id, options)) {
        tell(story, event.seq, event.event)
        if (event.seq >= plan.showFrom) await view.event(event, story)
        if (isTerminal(story.status) && story.lastSeq >= plan.settleFrom) break
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
    await plan.questions.end()
    await view.end()
  }
  return settled(plan, cause, signalled, tellAt)
}

async function settled(
  plan: FollowPlan,
  cause: Cause | undefined,
  signalled: CaughtSignal | undefined,
  tellAt: number,
): Promise<FollowEnd> {
  const { story } = plan
  if (isTerminal(story.status)) {
    const exitCode = signalled === undefined ? exitCodeOf(story.status) : meaningOf(signalled).exitCode
    return { story, exitCode, reason: 'done' }
  }
  const why: Cause = cause ?? { reason: 'no_host', exitCode: EXIT.unavailable }
  if (why.reason !== 'paused') await handOver(plan, tellAt)
  return { story, exitCode: why.exitCode, reason: why.reason, ...(why.error === undefined ? {} : { error: why.error }) }
}

/** To a host in the background. What is not over by `tellAt` (ms since 1970) goes on, and `platform.close` waits for it. */
async function handOver({ platform, id }: FollowPlan, tellAt: number): Promise<void> {
  const leaving = platform.leave(id)
  if (tellAt === Number.POSITIVE_INFINITY) return await leaving
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((done) => {
    timer = setTimeout(done, Math.max(0, tellAt - Date.now()))
  })
  // The end is told in time; that it was not handed over is told by the error of closing.
  await Promise.race([leaving.catch(() => undefined), late])
  clearTimeout(timer)
}
