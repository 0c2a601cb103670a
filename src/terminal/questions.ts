/** What `run` does about a question that opens: a chosen answer, a person, or one of the `--on-input` ways (cli.md). */

import { ResolveError } from '../core/errors.ts'
import type { Platform } from '../core/index.ts'
import type { Payload } from '../core/protocol/form.ts'
import type { Actor } from '../core/protocol/instance.ts'
import type { Story, StoryRequest } from '../core/view/story.ts'
import { pendingRequests } from '../core/view/story.ts'
import type { Answers } from './answers.ts'
import { cleanText } from './clean.ts'
import type { LeftReason } from './documents.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { answerCommand } from './next-steps.ts'
import type { View } from './view.ts'

export type OnInput = 'prompt' | 'leave' | 'wait' | 'cancel'

/** Asks a person for a form, `before` standing in its fields; undefined where the person leaves instead. */
export type Ask = (request: StoryRequest, before: Payload, signal: AbortSignal) => Promise<Payload | undefined>

export interface QuestionPlan {
  platform: Platform
  id: string
  view: View
  actor: Actor
  answers: Answers
  onInput: OnInput
  ask: Ask
}

export type Leave = (why: { reason: LeftReason; exitCode: ExitCode; error?: unknown }) => void

export interface Questions {
  /** Deals with every pending question that it has not met before. */
  meet(story: Story, leave: Leave): Promise<void>
  end(): void
}

export function meetQuestions(plan: QuestionPlan): Questions {
  const met = new Set<string>()
  const asking = new Map<string, AbortController>()
  let turn: Promise<void> = Promise.resolve()

  const meetOne = async (request: StoryRequest, leave: Leave) => {
    const chosen = plan.answers.forRequest(request.id)
    if (chosen !== undefined) return await giveChosen(plan, request, chosen, leave)
    if (plan.onInput === 'leave') return leave({ reason: 'input_required', exitCode: EXIT.inputRequired })
    if (plan.onInput === 'cancel') {
      plan.view.note(`Nobody may answer "${request.id}": the instance is cancelled.`)
      await plan.platform.cancel(plan.id)
      return
    }
    if (plan.onInput === 'wait') {
      return plan.view.note(
        `Waiting for an answer to "${request.id}" (${cleanText(request.prompt)}):\n  ${answerCommand(plan.id, request)}`,
      )
    }
    const abort = new AbortController()
    asking.set(request.id, abort)
    // One at a time: a terminal holds one question. The journal is followed on meanwhile.
    turn = turn.then(() => askPerson(plan, request, abort.signal, leave))
  }

  return {
    async meet(story, leave) {
      const pending = pendingRequests(story)
      for (const [id, abort] of asking) {
        if (pending.some((request) => request.id === id)) continue
        abort.abort()
        asking.delete(id)
      }
      if (story.status !== 'awaiting_input') return
      for (const request of pending) {
        const key = `${request.id} ${request.asked_at}`
        if (met.has(key)) continue
        met.add(key)
        await meetOne(request, leave)
      }
    },
    end() {
      for (const abort of asking.values()) abort.abort()
    },
  }
}

async function giveChosen(plan: QuestionPlan, request: StoryRequest, payload: Payload, leave: Leave): Promise<void> {
  try {
    await plan.platform.answer(plan.id, request.id, payload, plan.actor)
  } catch (error) {
    if (isLate(error)) return
    if (!(error instanceof ResolveError) || error.code !== 'form_invalid') throw error
    leave({ reason: 'answer_invalid', exitCode: EXIT.formInvalid, error })
  }
}

async function askPerson(plan: QuestionPlan, request: StoryRequest, signal: AbortSignal, leave: Leave): Promise<void> {
  if (signal.aborted) return
  await plan.view.hide()
  try {
    let before: Payload = {}
    for (;;) {
      const payload = await plan.ask(request, before, signal)
      if (signal.aborted) return plan.view.note(`"${request.id}" was answered elsewhere.`)
      if (payload === undefined) return leave({ reason: 'input_required', exitCode: EXIT.inputRequired })
      const errors = await tryAnswer(plan, request, payload)
      if (errors.length === 0) return
      plan.view.note(errors.map((sentence) => `  ✗ ${cleanText(sentence)}`).join('\n'))
      before = payload
    }
  } catch (error) {
    if (!isLate(error)) leave({ reason: 'input_required', exitCode: EXIT.inputRequired, error })
  } finally {
    await plan.view.show()
  }
}

/** Every failing check (none: it was taken). */
async function tryAnswer(plan: QuestionPlan, request: StoryRequest, payload: Payload): Promise<readonly string[]> {
  try {
    await plan.platform.answer(plan.id, request.id, payload, plan.actor)
    return []
  } catch (error) {
    if (error instanceof ResolveError && error.code === 'form_invalid') return error.errors
    throw error
  }
}

/** Somebody else was first (R25), or it was withdrawn: no fault of ours. */
function isLate(error: unknown): boolean {
  return error instanceof ResolveError && (error.code === 'already_answered' || error.code === 'request_cancelled')
}
