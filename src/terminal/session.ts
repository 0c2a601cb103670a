/** `run`, `resume` and `watch` after they have an instance: the view, the questions and the ways to let go, put together. */
import type { Platform } from '../core/index.ts'
import type { Actor } from '../core/protocol/instance.ts'
import { beginStory, type Story } from '../core/view/story.ts'
import { type Answers, NO_ANSWERS, readAnswers } from './answers.ts'
import { parseDuration } from './duration.ts'
import { finish } from './finish.ts'
import { type Controls, follow } from './follow.ts'
import { askForm } from './form/ask-form.ts'
import { openView } from './open-view.ts'
import { holdOnClosedPipe, type Output } from './output.ts'
import { type AskedQuestion, meetQuestions, type OnInput } from './questions.ts'

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
  const story = session.story ?? beginStory((await platform.story(id)).birth)
  const { view, steer } = await openView(output, { live: session.live, watching: session.watching })
  const questions = meetQuestions({
    platform,
    id,
    view,
    actor: session.actor,
    answers: session.answers,
    onInput: session.onInput,
    ask: ({ request, ...question }: AskedQuestion) =>
      askForm(
        {
          ...question,
          title: request.prompt,
          form: request.schema,
          before: {},
          submitWord: 'Answer',
          escapeWord: 'put it aside',
          interrupt: (times) => interrupted(times, session.watching, steered),
        },
        output,
      ),
  })
  let steered: Controls | undefined
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

/** Ctrl-C in a question does what it does beside one (cli.md, Leaving and stopping). Says what the next one does. */
function interrupted(times: number, watching: boolean, controls: Controls | undefined): string {
  if (watching) {
    controls?.detach()
    return 'Left; the instance goes on.'
  }
  if (times === 1) return 'Nothing is stopped yet.  Ctrl-C again: stop it'
  if (times === 2) controls?.stop()
  else controls?.force()
  return 'Stopping…  Ctrl-C again: force'
}
