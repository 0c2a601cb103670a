/** Handles input requests while a run is followed: a prepared answer, a form, or what `--on-input` says (docs/cli.md). */
import { fail, ResolveError } from '../../core/errors.ts'
import type { Platform } from '../../core/index.ts'
import type { Payload } from '../../core/protocol/form.ts'
import type { Actor } from '../../core/protocol/instance.ts'
import { cleanText } from '../../core/view/clean.ts'
import { misfitsOf } from '../../core/view/misfits.ts'
import type { Story, StoryRequest } from '../../core/view/story.ts'
import { pendingRequests } from '../../core/view/story.ts'
import type { FormEnd } from '../form/form-session.ts'
import type { FormState } from '../form/form-state.ts'
import { withSentence } from '../output/command-error.ts'
import type { LeftReason } from '../output/documents.ts'
import { EXIT, type ExitCode } from '../output/exit-codes.ts'
import { answerCommand } from '../output/next-steps.ts'
import type { View } from '../view/view.ts'
import type { Answers } from './answers.ts'

export type OnInput = 'prompt' | 'leave' | 'wait' | 'cancel'

export interface RequestToAnswer {
  request: StoryRequest
  /** The state of the form when the user put it aside; undefined the first time. */
  draft: FormState | undefined
  /** Aborts when the request is no longer open. */
  signal: AbortSignal
  /** Submits an answer; returns the failing messages, or [] if it was accepted. */
  submit: (payload: Payload) => Promise<readonly string[]>
}

/** Opens the form of a request, and submits the answer. */
export type Ask = (asked: RequestToAnswer) => Promise<FormEnd>

export interface RequestPlan {
  platform: Platform
  id: string
  view: View
  actor: Actor
  answers: Answers
  onInput: OnInput
  ask: Ask
  /** Waits, after the user put a form aside, until the user opens it again or the signal aborts. Absent: following ends instead. */
  aside?: (request: StoryRequest, signal: AbortSignal) => Promise<void>
}

export type Leave = (why: { reason: LeftReason; exitCode: ExitCode; error?: unknown }) => void

export interface RequestHandler {
  /** Handles every pending request that it has not handled before. */
  handle(story: Story, leave: Leave): Promise<void>
  /** Closes open forms; resolves when the terminal is free. */
  end(): Promise<void>
}

export function handleRequests(plan: RequestPlan): RequestHandler {
  const handled = new Set<string>()
  const asking = new Map<string, AbortController>()
  let turn: Promise<void> = Promise.resolve()

  const handleOne = async (request: StoryRequest, leave: Leave) => {
    const chosen = plan.answers.forRequest(request.id)
    if (chosen !== undefined) return await giveChosen(plan, request, chosen, leave)
    if (plan.answers.where !== '' && refusesSlip(plan, request, leave)) return
    if (plan.onInput === 'leave') return leave({ reason: 'input_required', exitCode: EXIT.inputRequired })
    if (plan.onInput === 'cancel') {
      plan.view.note(`No prepared answer for "${request.id}": the instance is cancelled.`)
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
    // One form at a time. Following the journal continues meanwhile.
    turn = turn.then(() => askPerson(plan, request, abort.signal, leave)).finally(() => asking.delete(request.id))
  }

  return {
    async handle(story, leave) {
      for (const [id, abort] of asking) {
        const request = story.requests.find((one) => one.id === id)
        if (request?.status !== 'pending') abort.abort(closedSentence(id, request))
      }
      if (story.status !== 'awaiting_input') return
      for (const request of pendingRequests(story)) {
        const key = `${request.id} ${request.asked_at}`
        if (handled.has(key)) continue
        handled.add(key)
        await handleOne(request, leave)
      }
    },
    async end() {
      for (const abort of asking.values()) abort.abort(ENDED)
      await turn
    },
  }
}

/** The abort reason when following ends: no message is printed. */
const ENDED = Symbol('ended')

function closedSentence(id: string, request: StoryRequest | undefined): string {
  if (request?.status !== 'answered') return `"${id}" was withdrawn.`
  return `"${id}" was answered by ${cleanText(`${request.actor} (${request.via})`)}.`
}

/**
 * Tells that the file of answers has no entry for the request. If one of its entries is probably misspelt (R35), a run that asks
 * for nothing else ends here, and an instance is not cancelled for it. Returns whether it ended.
 */
function refusesSlip(plan: RequestPlan, request: StoryRequest, leave: Leave): boolean {
  const { answers, onInput, view } = plan
  const meant = answers.meantFor(request.id)
  const missing = `${answers.where} has no entry for the question "${request.id}".`
  if (meant === undefined || onInput === 'prompt' || onInput === 'wait') {
    view.note(cleanText(missing))
    return false
  }
  const message = `${missing} Its entry "${meant}" has matched no question: is it misspelt?`
  const error = withSentence(fail('form_invalid', { errors: [] }), 'form_invalid', { message, hint: undefined })
  leave({ reason: 'answer_invalid', exitCode: EXIT.formInvalid, error })
  return true
}

async function giveChosen(plan: RequestPlan, request: StoryRequest, payload: Payload, leave: Leave): Promise<void> {
  const misfits = misfitsOf(request.schema ?? { components: [] }, payload)
  if (misfits.length > 0) {
    const error = fail('form_invalid', { errors: misfits.map(({ message }) => message), fields: misfits })
    const message = `The answer to "${request.id}" in ${plan.answers.where} does not fit its form`
    const said = withSentence(error, 'form_invalid', { message, hint: undefined })
    return leave({ reason: 'answer_invalid', exitCode: EXIT.formInvalid, error: said })
  }
  try {
    await plan.platform.answer(plan.id, request.id, payload, plan.actor)
  } catch (error) {
    if (isLate(error)) return
    if (!(error instanceof ResolveError) || error.code !== 'form_invalid') throw error
    leave({ reason: 'answer_invalid', exitCode: EXIT.formInvalid, error })
  }
}

async function askPerson(plan: RequestPlan, request: StoryRequest, signal: AbortSignal, leave: Leave): Promise<void> {
  const submit = (payload: Payload) => tryAnswer(plan, request, payload)
  let draft: FormState | undefined
  try {
    while (!signal.aborted) {
      const ended = await plan.ask({ request, draft, signal, submit })
      if (ended.kind === 'submitted') return
      if (ended.kind === 'closed') break
      if (ended.kind === 'interrupted' || plan.aside === undefined) {
        return leave({ reason: 'input_required', exitCode: EXIT.inputRequired })
      }
      draft = ended.draft
      await plan.aside(request, signal)
    }
    if (signal.reason !== ENDED) plan.view.note(String(signal.reason))
  } catch (error) {
    if (!isLate(error)) return leave({ reason: 'input_required', exitCode: EXIT.inputRequired, error })
    plan.view.note(signal.aborted ? String(signal.reason) : cleanText((error as ResolveError).message))
  }
}

/** Submits an answer; returns the failing messages, or [] if it was accepted. */
async function tryAnswer(plan: RequestPlan, request: StoryRequest, payload: Payload): Promise<readonly string[]> {
  try {
    await plan.platform.answer(plan.id, request.id, payload, plan.actor)
    return []
  } catch (error) {
    if (error instanceof ResolveError && error.code === 'form_invalid') return error.errors
    throw error
  }
}

/** Another consumer answered first (R25), or the request was withdrawn. */
function isLate(error: unknown): boolean {
  return error instanceof ResolveError && (error.code === 'already_answered' || error.code === 'request_cancelled')
}
