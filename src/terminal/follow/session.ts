/** `run`, `resume` and `watch` after they have an instance: the view, the questions and the ways to let go, put together. */
import type { Platform } from '../../core/index.ts'
import type { Actor } from '../../core/protocol/instance.ts'
import { beginStory, type Story } from '../../core/view/story.ts'
import { parseDuration } from '../command/duration.ts'
import { askForm } from '../form/ask-form.ts'
import type { FormPlan } from '../form/form-session.ts'
import { type AskedQuestion, meetQuestions, type OnInput, type QuestionPlan } from '../input/answer-requests.ts'
import { type Answers, NO_ANSWERS, readAnswers } from '../input/answers.ts'
import { holdOnClosedPipe, type Output } from '../output/output.ts'
import type { Slot } from '../view/slot.ts'
import type { Controls } from '../view/view.ts'
import { finish } from './finish.ts'
import { follow } from './follow.ts'
import { openView } from './open-view.ts'

export interface SessionFlags {
  answers?: string | undefined
  'on-input'?: string | undefined
  timeout?: string | undefined
}

/** What the flags ask for, read and checked before anything is started. */
export interface SessionPlan {
  answers: Answers
  onInput: OnInput
  timeoutMs: number | undefined
}

export async function planSession(flags: SessionFlags, mayAsk: boolean): Promise<SessionPlan> {
  return {
    answers: flags.answers === undefined ? NO_ANSWERS : await readAnswers(flags.answers),
    onInput: (flags['on-input'] as OnInput | undefined) ?? (mayAsk ? 'prompt' : 'leave'),
    timeoutMs: flags.timeout === undefined ? undefined : parseDuration(flags.timeout),
  }
}

export interface Session extends SessionPlan {
  platform: Platform
  id: string
  output: Output
  actor: Actor
  live: boolean
  /** `watch`: Ctrl-C and signals leave, whatever CI says. */
  watching: boolean
  stopOnSignal: boolean
  /** The story up to where the journal is followed from; default: from its beginning. */
  story?: Story
  showFrom?: number
  settleFrom?: number
}

/** Follows, tells the end, and returns the exit code. */
export async function runSession(session: Session): Promise<number> {
  const { platform, id, output } = session
  const story = session.story ?? beginStory((await platform.story(id)).creation)
  let steered: Controls | undefined
  const { view, steer, slot } = await openView(output, { live: session.live, watching: session.watching })
  const questions = meetQuestions({
    platform,
    id,
    view,
    actor: session.actor,
    answers: session.answers,
    onInput: session.onInput,
    ...(await questionForms(slot, output, (times) => interrupted(times, session.watching, steered))),
  })
  let letGo: () => void = () => {}
  const end = await follow({
    platform,
    id,
    view,
    story,
    questions,
    showFrom: session.showFrom ?? 0,
    settleFrom: session.settleFrom ?? 0,
    stopOnSignal: session.stopOnSignal,
    ...(session.timeoutMs === undefined ? {} : { timeoutMs: session.timeoutMs }),
    controls: (controls: Controls) => {
      steered = controls
      steer(controls)
      letGo = holdOnClosedPipe(controls.detach)
    },
  })
  const code = await finish(output, end)
  letGo()
  return code
}

/** Where questions are asked: below the live frame, or, where nothing is drawn, in a form of their own. */
async function questionForms(
  slot: Slot | undefined,
  output: Output,
  interrupt: (times: number) => string,
): Promise<Pick<QuestionPlan, 'ask' | 'aside'>> {
  const toPlan = ({ request, ...question }: AskedQuestion, escapeWord: string): FormPlan => ({
    ...question,
    title: request.prompt,
    form: request.schema,
    before: {},
    submitWord: 'Answer',
    escapeWord,
  })
  if (slot === undefined) return { ask: (question) => askForm(toPlan(question, 'leave it open'), output) }
  const { askInSlot, asideInSlot } = await import('../form/slot-form.tsx')
  return {
    ask: (question) => askInSlot(slot, { ...toPlan(question, 'put it aside'), interrupt }),
    aside: (_, signal) => asideInSlot(slot, signal),
  }
}

/** Ctrl-C in a question does what it does beside one (docs/cli.md, Leaving and stopping). Says what the next one does. */
function interrupted(times: number, watching: boolean, controls: Controls | undefined): string {
  if (watching) {
    controls?.detach()
    return 'Left; the instance goes on.'
  }
  if (times === 1) return 'Nothing is stopped yet.  Ctrl-C: stop it   any other key: go on'
  if (times === 2) controls?.stop()
  else controls?.force()
  return 'Stopping…  Ctrl-C again: force'
}
