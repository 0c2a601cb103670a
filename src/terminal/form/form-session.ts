/**
 * The session of an open form: asks the resolver for the form again, submits it, and ends. Independent of the terminal: the view
 * sends keys and subscribes to the state. {@link file://./open-form.tsx} draws it.
 */

import { ResolveError } from '../../core/errors.ts'
import { splitSecrets } from '../../core/forms/secret-fields.ts'
import { failingChecks } from '../../core/forms/validate.ts'
import { SCHEMA_LIMIT_MS } from '../../core/limits.ts'
import { within } from '../../core/primitives/within.ts'
import type { Form, Payload } from '../../core/protocol/form.ts'
import type { FormKey } from './form-keys.ts'
import { beginForm, type Checker, type FormAction, type FormState, formReducer, payloadOf } from './form-state.ts'

export interface FormPlan {
  /** The prompt; hostile text is cleaned when it is shown. */
  title: string
  form: Form
  /** The initial values; keys that are not fields are submitted unchanged. */
  before: Payload
  /** The state of a form that was put aside; replaces `form` and `before`. */
  draft?: FormState | undefined
  /** The label of the submit row: `Run`, `Answer`, `Send`. */
  submitWord: string
  /** What Esc does: `cancel`, `answer later`. */
  escapeWord: string
  /** Asks for the form for an input, after each committed field; absent: the form never changes. */
  schema?: (input: Payload) => Promise<Form | null>
  schemaLimitMs?: number
  /** Resolves with all failing messages; [] if the payload was accepted. An error ends the form. */
  submit?: (payload: Payload) => Promise<readonly string[]>
  /** Called with the number of Ctrl-C presses; returns the sentence to show. Absent: Ctrl-C ends the form. */
  interrupt?: (times: number) => string
  /** Ends the form, for example because another consumer has answered. A running submission is awaited first. */
  signal?: AbortSignal
}

/** dismissed: Esc. interrupted: Ctrl-C or a closed terminal. closed: the signal aborted. */
export type FormEnd =
  | { kind: 'submitted'; payload: Payload }
  | { kind: 'dismissed'; draft: FormState }
  | { kind: 'interrupted' }
  | { kind: 'closed' }

export interface FormSession {
  state(): FormState
  /** The effect of Ctrl-C so far. */
  bar(): string | undefined
  subscribe(listener: () => void): () => void
  press(key: FormKey): void
  dispatch(action: FormAction): void
  /** Rejects with the error of the submission. */
  ended: Promise<FormEnd>
}

/** A session with the checks of the core, which bound the time of patterns so that a form cannot block the terminal. */
export async function checkedSession(plan: FormPlan): Promise<FormSession> {
  // The core is already loaded: the form came from its platform.
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
  let startedInquiry = plan.draft?.inquiry ?? 0
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
  /** Performs the effects that the state requests. */
  const act = () => {
    if (state.inquiry > startedInquiry && state.waiting) {
      startedInquiry = state.inquiry
      void ask(state.inquiry, payloadOf(state))
    }
    if (state.phase === 'sending' && !isSending) {
      isSending = true
      void send(payloadOf(state))
    }
    if (state.phase === 'dismissed') resolve({ kind: 'dismissed', draft: state })
  }
  const ask = async (inquiry: number, input: Payload) => {
    try {
      // An inquiry may travel in an address: secret values are sent with the submission only.
      const { open } = splitSecrets(state.form, input)
      const form = await within(plan.schemaLimitMs ?? SCHEMA_LIMIT_MS, Promise.resolve(plan.schema?.(open)))
      if (form === undefined) dispatch({ type: 'form-failed', inquiry, sentence: TOOK_TOO_LONG })
      else dispatch({ type: 'form', inquiry, form: form ?? { type: 'form', components: [] } })
    } catch (error) {
      const isSilent = error instanceof ResolveError && error.code === 'resolver_silent'
      const why = error instanceof Error ? error.message : String(error)
      const sentence = isSilent ? TOOK_TOO_LONG : `The form was not updated. ${why}`
      dispatch({ type: 'form-failed', inquiry, sentence })
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
        // A stop cannot be undone; before it, any other key resets the count.
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

const TOOK_TOO_LONG = `The resolver did not answer within ${SCHEMA_LIMIT_MS / 1000} s: the form was not updated.`
