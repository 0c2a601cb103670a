/**
 * A form while it is open: asks the resolver for it again, submits it, and ends. Knows no terminal: the view presses keys and
 * is told of each state. {@link file://./open-form.tsx} draws it.
 */
import { ResolveError } from '../../core/errors.ts'
import { failingChecks } from '../../core/forms/validate.ts'
import { SCHEMA_LIMIT_MS } from '../../core/limits.ts'
import type { Form, Payload } from '../../core/protocol/form.ts'
import type { FormKey } from './form-keys.ts'
import { beginForm, type Checker, type FormAction, type FormState, formReducer, payloadOf } from './form-state.ts'

export interface FormPlan {
  /** The question itself; hostile text is cleaned where it is shown. */
  title: string
  form: Form
  /** What stands in the fields already; keys that are no fields are submitted with them. */
  before: Payload
  /** A form that was put aside, to go on with: it wins over `form` and `before`. */
  draft?: FormState | undefined
  /** On the row that submits: `Run`, `Answer`, `Send`. */
  submitWord: string
  /** What Esc does: `cancel`, `put it aside`. */
  escapeWord: string
  /** The form for an input, asked again after each field that counts; absent: the form never changes. */
  schema?: (input: Payload) => Promise<Form | null>
  schemaLimitMs?: number
  /** Resolves with every failing message: none, and it was taken. What it throws ends the form. */
  submit?: (payload: Payload) => Promise<readonly string[]>
  /** What Ctrl-C does, by how often it was pressed; the sentence is shown. Absent: it ends the form. */
  interrupt?: (times: number) => string
  /** Ends the form from outside: somebody else has answered. A submission on its way is awaited first. */
  signal?: AbortSignal
}

/** dismissed: by Esc. interrupted: by Ctrl-C, or a terminal that is gone. closed: by the signal. */
export type FormEnd =
  | { kind: 'submitted'; payload: Payload }
  | { kind: 'dismissed'; draft: FormState }
  | { kind: 'interrupted' }
  | { kind: 'closed' }

export interface FormSession {
  state(): FormState
  /** What Ctrl-C has brought about so far. */
  bar(): string | undefined
  subscribe(listener: () => void): () => void
  press(key: FormKey): void
  dispatch(action: FormAction): void
  /** Rejects with what the submission threw. */
  ended: Promise<FormEnd>
}

/** A session with the checks of the core; a pattern of a form cannot hold the terminal either. */
export async function checkedSession(plan: FormPlan): Promise<FormSession> {
  // The core is loaded by now: its platform gave the form.
  const { boundedMatcher } = await import('../../core/index.ts')
  return openFormSession(plan, (form, payload) => failingChecks(form, payload, boundedMatcher()))
}

export function openFormSession(plan: FormPlan, check: Checker): FormSession {
  const reduce = formReducer(check)
  const listeners = new Set<() => void>()
  const { promise: ended, resolve, reject } = Promise.withResolvers<FormEnd>()
  let state: FormState =
    plan.draft === undefined
      ? beginForm(plan.form, plan.before, plan.schema !== undefined, check)
      : { ...plan.draft, phase: 'editing' }
  let askedQuestion = plan.draft?.question ?? 0
  let interrupts = 0
  let bar: string | undefined
  let isSending = false

  const notify = () => {
    for (const listener of listeners) listener()
  }
  const dispatch = (action: FormAction) => {
    state = reduce(state, action)
    act()
    notify()
  }
  /** What a state asks to be done. */
  const act = () => {
    if (state.question > askedQuestion && state.waiting) {
      askedQuestion = state.question
      void ask(state.question, payloadOf(state))
    }
    if (state.phase === 'sending' && !isSending) {
      isSending = true
      void send(payloadOf(state))
    }
    if (state.phase === 'dismissed') resolve({ kind: 'dismissed', draft: state })
  }
  const ask = async (question: number, input: Payload) => {
    try {
      const form = await withinLimit(plan.schema?.(input), plan.schemaLimitMs ?? SCHEMA_LIMIT_MS)
      if (form === undefined) dispatch({ type: 'form-failed', question, sentence: TOOK_TOO_LONG })
      else dispatch({ type: 'form', question, form: form ?? { type: 'form', components: [] } })
    } catch (error) {
      const isSilent = error instanceof ResolveError && error.code === 'resolver_silent'
      const why = error instanceof Error ? error.message : String(error)
      const sentence = isSilent ? TOOK_TOO_LONG : `The form stays as it is. ${why}`
      dispatch({ type: 'form-failed', question, sentence })
    }
  }
  const send = async (payload: Payload) => {
    try {
      const messages = (await plan.submit?.(payload)) ?? []
      isSending = false
      if (messages.length === 0) resolve({ kind: 'submitted', payload })
      else if (plan.signal?.aborted) resolve({ kind: 'closed' })
      else dispatch({ type: 'refused', messages })
    } catch (error) {
      reject(error)
    }
  }
  const onAbort = () => {
    if (!isSending) resolve({ kind: 'closed' })
  }
  if (plan.signal?.aborted) onAbort()
  else plan.signal?.addEventListener('abort', onAbort, { once: true })
  const session: FormSession = {
    state: () => state,
    bar: () => bar,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    press(key) {
      if (key.type !== 'interrupt') {
        // Once it stops it stops; before that a person may think again.
        if (interrupts === 1) [interrupts, bar] = [0, undefined]
        return dispatch({ type: 'key', key })
      }
      interrupts += 1
      if (plan.interrupt === undefined) return resolve({ kind: 'interrupted' })
      bar = plan.interrupt(interrupts)
      notify()
    },
    dispatch,
    ended: ended.finally(() => plan.signal?.removeEventListener('abort', onAbort)),
  }
  act()
  return session
}

const TOOK_TOO_LONG = `The resolver did not answer within ${SCHEMA_LIMIT_MS / 1000} s: the form stays as it is.`

/** undefined where the limit came first. */
async function withinLimit<T>(work: Promise<T> | undefined, limitMs: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<undefined>((done) => {
    timer = setTimeout(() => done(undefined), limitMs)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}
