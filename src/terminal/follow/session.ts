/** Runs the common part of `run`, `resume` and `watch`: connects the view, the handling of input requests, and the controls. */
import type { Platform } from '../../core/index.ts'
import type { Actor } from '../../core/protocol/instance.ts'
import { beginStory, type Story } from '../../core/view/story.ts'
import { parseDuration } from '../command/duration.ts'
import { readConfig } from '../config/config-file.ts'
import { askForm } from '../form/ask-form.ts'
import type { FormPlan } from '../form/form-session.ts'
import { handleRequests, type OnInput, type RequestPlan, type RequestToAnswer } from '../input/answer-requests.ts'
import { type Answers, NO_ANSWERS, readAnswers } from '../input/answers.ts'
import { usage } from '../output/command-error.ts'
import type { ExitCode } from '../output/exit-codes.ts'
import { holdOnClosedPipe, type Output } from '../output/output.ts'
import type { Slot } from '../view/slot.ts'
import type { Controls } from '../view/view.ts'
import { finish } from './finish.ts'
import { follow } from './follow.ts'
import { showLog } from './follow-log.ts'
import { openView } from './open-view.ts'

export interface SessionFlags {
  answers?: string | undefined
  'on-input'?: string | undefined
  timeout?: string | undefined
  verbose?: boolean | undefined
}

/** The flags, read and checked before an instance is created. */
export interface SessionPlan {
  answers: Answers
  onInput: OnInput
  timeoutMs: number | undefined
  /** Whether to show the log of the worker too. */
  verbose: boolean
}

/** `mayNotAsk` is why no question may be asked on the terminal; undefined if it may. */
export async function planSession(flags: SessionFlags, mayNotAsk: string | undefined): Promise<SessionPlan> {
  if (flags['on-input'] === 'prompt' && mayNotAsk !== undefined)
    throw usage(`--on-input prompt asks on the terminal, and this command may not ask: ${mayNotAsk}.`)
  return {
    answers: flags.answers === undefined ? NO_ANSWERS : await readAnswers(flags.answers),
    onInput:
      (flags['on-input'] as OnInput | undefined) ??
      configuredOnInput(mayNotAsk === undefined) ??
      (mayNotAsk === undefined ? 'prompt' : 'leave'),
    timeoutMs: flags.timeout === undefined ? undefined : parseDuration(flags.timeout),
    verbose: flags.verbose ?? false,
  }
}

/** `prompt` of the config file holds where a question can be asked; elsewhere the default does. */
function configuredOnInput(mayAsk: boolean): OnInput | undefined {
  const { on_input } = readConfig()
  return on_input === 'prompt' && !mayAsk ? undefined : on_input
}

export interface Session extends SessionPlan {
  platform: Platform
  id: string
  output: Output
  actor: Actor
  live: boolean
  /** For `watch`: Ctrl-C and signals end following, also in CI. */
  watching: boolean
  stopOnSignal: boolean
  /** The story to continue from; default: the beginning of the journal. */
  story?: Story
  showFrom?: number
  actFrom?: number
  /** What the document of --json has beside the fields of every instance; asked for at the end. */
  more?: () => Promise<Record<string, unknown>>
  /** The exit code of an instance that has ended, where the command has one of its own. */
  codeOf?: (code: ExitCode) => Promise<ExitCode>
}

/** Follows the instance, prints its end, and returns the exit code. */
export async function runSession(session: Session): Promise<number> {
  const { platform, id, output } = session
  const story = session.story ?? beginStory((await platform.story(id)).creation)
  let steered: Controls | undefined
  const { view, steer, slot } = await openView(output, { live: session.live, watching: session.watching })
  const requests = handleRequests({
    platform,
    id,
    view,
    actor: session.actor,
    answers: session.answers,
    onInput: session.onInput,
    ...(await requestForms(slot, output, (times) => interrupted(times, session.watching, steered))),
  })
  let releaseOutput: () => void = () => {}
  const note = (line: string) => (output.json ? output.note(line) : view.note(line))
  const log = session.verbose ? showLog(platform, id, { note, isNew: session.story === undefined }) : undefined
  const end = await follow({
    log,
    platform,
    id,
    view,
    story,
    requests,
    showFrom: session.showFrom ?? 0,
    actFrom: session.actFrom ?? 0,
    stopOnSignal: session.stopOnSignal,
    ...(session.timeoutMs === undefined ? {} : { timeoutMs: session.timeoutMs }),
    controls: (controls: Controls) => {
      steered = controls
      steer(controls)
      releaseOutput = holdOnClosedPipe(controls.detach)
    },
  })
  const unused = end.reason === 'done' ? session.answers.unmatched() : []
  // The input is known only after its check (R48); events do not carry it.
  if (end.story.creation.unchecked === true) {
    const now = await platform.story(id).catch(() => undefined)
    if (now !== undefined) end.story.creation = now.creation
  }
  const { exitCode } = end
  const code = await finish(
    output,
    { ...end, exitCode: end.reason === 'done' ? ((await session.codeOf?.(exitCode)) ?? exitCode) : exitCode },
    unused.map((entry) => unusedSentence(entry, session.answers.where)),
    session.more,
  )
  releaseOutput()
  return code
}

function unusedSentence(entry: string, where: string): string {
  return `The entry "${entry}" in ${where} matched no question of this run.`
}

/** Opens forms below the live frame, or without a live view as forms of their own. */
async function requestForms(
  slot: Slot | undefined,
  output: Output,
  interrupt: (times: number) => string,
): Promise<Pick<RequestPlan, 'ask' | 'aside'>> {
  const toPlan = ({ request, ...rest }: RequestToAnswer, escapeWord: string): FormPlan => ({
    ...rest,
    title: request.prompt,
    form: request.schema,
    before: {},
    submitWord: 'Answer',
    escapeWord,
  })
  if (slot === undefined) return { ask: (asked) => askForm(toPlan(asked, 'leave it open'), output) }
  const { askInSlot, asideInSlot } = await import('../form/slot-form.tsx')
  return {
    ask: (asked) => askInSlot(slot, { ...toPlan(asked, 'answer later'), interrupt }),
    aside: (_, signal) => asideInSlot(slot, signal),
  }
}

/** Ctrl-C in a form works as outside of it (docs/cli.md, Leaving and stopping). Returns a sentence about the next Ctrl-C. */
function interrupted(times: number, watching: boolean, controls: Controls | undefined): string {
  if (watching) {
    controls?.detach()
    return 'Left; the instance continues.'
  }
  if (times === 1) return 'Not stopped yet.  Ctrl-C: stop it   any other key: continue'
  if (times === 2) controls?.stop()
  else controls?.force()
  return 'Stopping…  Ctrl-C again: force'
}
