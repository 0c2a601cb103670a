/**
 * Asks a model until it answers: again after what may pass, and shorter where the request or the wanted answer is too long for it. {@link
 * file://./turn.ts} asks for steps by it, {@link file://./compact.ts} for summaries.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ModelMessage } from 'ai'
import { fail } from '../../core/errors.ts'
import { SESSION_RETRIES_MAX } from '../../core/limits.ts'
import type { Tool } from '../tools/tool.ts'
import { type Answer, askModel } from './ask-model.ts'
import { type Judged, judgeError, retryWaitMs } from './judge-error.ts'
import type { TurnParts } from './parts.ts'
import { holdsImage, type Shows, withImages } from './with-images.ts'

export interface Asked {
  instructions: string
  /** Taken anew for each try. */
  messages: () => readonly ModelMessage[]
  tools: ReadonlyMap<string, Tool>
  maxOutputTokens: number
  /** How many tokens the request has, by our count. */
  context: () => number
  /** Makes the messages shorter; the model has told that they are too long. Absent: they can't be. */
  shorten?: () => Promise<void>
}

/** Throws `session_failed`, `session_images_unsupported`, `budget_exceeded`, the errors of a scripted model, and the signal's reason. */
export async function askAgain(parts: TurnParts, turn: number, asked: Asked): Promise<Answer> {
  const { transcript, pace, bounds, signal } = parts
  let adapted = 0
  for (let attempt = 1; ; ) {
    const maxOutputTokens = bounds.outputFor(asked.maxOutputTokens, asked.context())
    try {
      return await askOnce(parts, asked, maxOutputTokens)
    } catch (error) {
      signal.throwIfAborted()
      // Errors of the catalogue are ours.
      if (isOwn(error)) throw error
      const judged = judgeError(error)
      const detail = transcript.redactor.text(judged.reason).slice(0, 1_000)
      const about = { turn, attempt, reason: detail, status: judged.status ?? null }
      if (refusesPrompt(parts, asked, judged))
        throw fail('session_images_unsupported', { session: parts.session, model: parts.model.id, detail })
      if (adapted < ADAPTED_MAX && (await isAdapted(parts, asked, judged, maxOutputTokens))) {
        adapted += 1
        await transcript.append('retry', { ...about, wait_ms: 0 }, signal)
        continue
      }
      const status = judged.status === undefined || judged.status === 200 ? {} : { status: judged.status }
      if (!judged.again || attempt > SESSION_RETRIES_MAX)
        throw fail('session_failed', { session: parts.session, detail, ...status }, { cause: error })
      const wait_ms = retryWaitMs(attempt, judged.waitMs, pace.retryMs)
      await transcript.append('retry', { ...about, wait_ms }, signal)
      await sleep(wait_ms, undefined, { signal }).catch(() => signal.throwIfAborted())
      attempt += 1
    }
  }
}

/** For a request that is too long, and for answers that are: a server may tell its limits one after another. */
const ADAPTED_MAX = 3

async function askOnce(parts: TurnParts, asked: Asked, maxOutputTokens: number): Promise<Answer> {
  const { model, budget, transcript, signal } = parts
  const { instructions, tools } = asked
  const { firstChunkMs, chunkMs } = parts.pace
  const place = await budget?.enter(model, asked.context(), maxOutputTokens, signal)
  const limits = { maxOutputTokens: place?.maxOutputTokens ?? maxOutputTokens, firstChunkMs, chunkMs, signal }
  const messages = withImages(asked.messages(), transcript.directory, showsOf(parts))
  let answer: Answer | undefined
  try {
    answer = await askModel({ model, instructions, messages, tools, ...limits })
  } finally {
    place?.leave(answer)
  }
  if (answer.finish !== 'error') return answer
  throw new DOMException('the answer ended with an error', 'OperationError')
}

/** Whether the next request differs from the one that was refused. */
async function isAdapted(parts: TurnParts, asked: Asked, judged: Judged, maxOutputTokens: number): Promise<boolean> {
  const { bounds } = parts
  if (judged.isOutputTooLong) return bounds.learnOutput(judged.told, maxOutputTokens)
  if (!judged.isTooLong && isAboutImages(parts, asked, judged)) {
    bounds.hideImages()
    return true
  }
  if (!judged.isTooLong || asked.shorten === undefined) return false
  const before = asked.context()
  bounds.learnWindow(judged.told, before)
  await asked.shorten()
  return asked.context() < before
}

/** A model without eyes refuses images, and would refuse every request after this one. */
function isAboutImages(parts: TurnParts, asked: Asked, { status = 0 }: Judged): boolean {
  const isRefused = status >= 400 && status < 500 && ![401, 403, 404, 408, 429].includes(status)
  const shows = showsOf(parts)
  return (
    isRefused &&
    asked.messages().some((one) => (one.role === 'user' ? shows.prompts : shows.results) && holdsImage(one))
  )
}

/** The images of the present prompt belong to what is asked: an answer without them would be one to another question. */
function refusesPrompt(parts: TurnParts, asked: Asked, judged: Judged): boolean {
  const { images = [], steps = 0 } = parts.transcript.history.turns.at(-1) ?? {}
  if (images.length === 0 || steps > 0 || judged.isTooLong || judged.isOutputTooLong) return false
  return isAboutImages(parts, asked, judged)
}

function showsOf({ model, bounds }: TurnParts): Shows {
  const { showsImages } = bounds
  return { prompts: showsImages && model.kind === 'live', results: showsImages && model.takesImages }
}

const OWN = ['script_ended', 'budget_exceeded']

function isOwn(error: unknown): boolean {
  return error instanceof Error && 'code' in error && OWN.includes(String(error.code))
}
