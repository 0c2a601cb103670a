/**
 * The state of a form while the user fills it in: values, messages, fields that appear and disappear, one submission at a time.
 * With `disclose`, the resolver is asked for the form again after a field is committed, and once more before the submission (R10).
 */
import { useEffect, useRef, useState } from 'react'
import { splitSecrets } from '../../core/forms/secret-fields.ts'
import type { Form, FormCheck, Payload } from '../../core/protocol/form.ts'
import { isUnreachable, Problem, sentenceOf } from '../api/problem.ts'
import { useReachable } from '../api/reach.ts'
import { checkInPage } from './check-in-page.ts'
import { dropDraft, keepDraft, readDraft } from './drafts.ts'
import { type Message, messagesOf, payloadOf } from './filling.ts'
import { pointerReleased } from './pointer-released.ts'

export interface FillingPlan {
  /** The form before any value is given. */
  form: Form
  /** The key under which the values are stored in this tab. */
  draft: string
  before?: Payload
  /** Asks for the form for this input and its failing checks; a newer inquiry aborts an older one. */
  disclose?: (input: Payload, signal: AbortSignal) => Promise<FormCheck>
  /** Sends the payload. Throws a `Problem`; messages of a form are shown. */
  submit: (payload: Payload) => Promise<void>
  /** Called when the payload was accepted and the draft was deleted. */
  onDone?: () => void
}

export interface Filling {
  form: Form
  values: Payload
  messages: readonly Message[]
  /** The number of failed submissions; each one moves the focus to the summary. */
  refusals: number
  /** A sentence next to the button, for problems other than failing checks. */
  trouble: string | null
  phase: 'editing' | 'checking' | 'sending'
  /** Whether an inquiry to the resolver is running. */
  isAsking: boolean
  payload: Payload
  change: (id: string, value: unknown) => void
  /** The user left a field or made a choice. */
  commit: (id: string) => void
  submit: () => void
}

/** The maximum number of inquiries in a row, for a resolver whose form keeps changing. */
const ROUNDS_MAX = 3

export function useFilling(plan: FillingPlan): Filling {
  const [form, setForm] = useState(plan.form)
  const [values, setValues] = useState<Payload>(() => ({ ...plan.before, ...readDraft(plan.draft) }))
  const [messages, setMessages] = useState<readonly Message[]>([])
  const [refusals, setRefusals] = useState(0)
  const [trouble, setTrouble] = useState<string | null>(null)
  const [phase, setPhase] = useState<Filling['phase']>('editing')
  const [isAsking, setAsking] = useState(false)
  // The current values for event handlers, which can run between two renders.
  const now = useRef({
    form,
    values,
    askedWith: '',
    asking: undefined as AbortController | undefined,
    isBusy: false,
    isOffline: false,
  })

  useEffect(() => {
    const { current } = now
    // The values of a draft can disclose more fields, so the form for them is requested at once.
    if (plan.disclose !== undefined && Object.keys(current.values).length > 0) void disclose()
    return () => current.asking?.abort()
  }, [])

  const isOnline = useReachable()
  useEffect(() => {
    // The trouble was the connection, and it is back.
    if (isOnline && now.current.isOffline) setTrouble(null)
    if (isOnline) now.current.isOffline = false
  }, [isOnline])

  const tell = (error: unknown) => {
    now.current.isOffline = isUnreachable(error)
    setTrouble(sentenceOf(error))
  }

  const show = (next: Form) => {
    now.current.form = next
    setForm(next)
  }

  /** Undefined if a newer inquiry has replaced this one. */
  const askForm = async (): Promise<FormCheck | undefined> => {
    const { current } = now
    if (plan.disclose === undefined) return undefined
    const input = payloadOf(current.form, current.values)
    current.askedWith = JSON.stringify(input)
    current.asking?.abort()
    const mine = new AbortController()
    current.asking = mine
    setAsking(true)
    try {
      const check = await plan.disclose(input, mine.signal)
      await pointerReleased()
      if (mine.signal.aborted) return undefined
      if (check.form !== null) show(check.form)
      return check
    } catch (error) {
      if (mine.signal.aborted) return undefined
      throw error
    } finally {
      if (current.asking === mine) setAsking(false)
    }
  }

  /** Whether the current form was made for another input than the one to submit. */
  const isOther = () => {
    const { form, values, askedWith } = now.current
    return JSON.stringify(payloadOf(form, values)) !== askedWith
  }

  const disclose = async () => {
    if (plan.disclose === undefined || !isOther()) return
    await askForm().then(
      () => setTrouble(null),
      async (error: unknown) => {
        await pointerReleased()
        tell(error)
      },
    )
  }

  const change = (id: string, value: unknown) => {
    const next = { ...now.current.values, [id]: value }
    now.current.values = next
    setValues(next)
    keepDraft(plan.draft, splitSecrets(now.current.form, next).open)
    // The user is correcting the field: its messages are removed.
    setMessages((before) => before.filter((message) => message.field !== id))
  }

  const commit = (id: string) => {
    const { current } = now
    void disclose()
    const asked = current.values
    void checkInPage(current.form, payloadOf(current.form, asked)).then(async (failing) => {
      await pointerReleased()
      if (failing === null || current.values !== asked || !Object.hasOwn(asked, id)) return
      const own = failing.filter(({ component }) => component === id)
      setMessages((before) => [...before.filter((message) => message.field !== id), ...messagesOf(own, [])])
    })
  }

  const refuse = (said: readonly Message[]) => {
    setMessages(said)
    setRefusals((count) => count + 1)
  }

  const send = async () => {
    const { current } = now
    setPhase('checking')
    let check = await askForm()
    // The form for this input can have a default value, which leads to another form.
    for (let round = 0; round < ROUNDS_MAX && check !== undefined && isOther(); round += 1) check = await askForm()
    const payload = payloadOf(current.form, current.values)
    const failing = await checkInPage(current.form, payload)
    const fromServer = check?.fields.map(({ id, message }): Message => ({ field: id, text: message })) ?? []
    if (fromServer.length > 0) return refuse(fromServer)
    if (failing !== null && failing.length > 0) return refuse(messagesOf(failing, []))
    setPhase('sending')
    try {
      await plan.submit(payloadOf(current.form, current.values))
    } catch (error) {
      if (!(error instanceof Problem) || error.errors.length === 0) throw error
      return refuse(messagesOf(await checkInPage(current.form, payload), error.errors))
    }
    dropDraft(plan.draft)
    plan.onDone?.()
  }

  const submit = () => {
    const { current } = now
    if (current.isBusy) return
    current.isBusy = true
    setTrouble(null)
    send()
      .catch(tell)
      .finally(() => {
        current.isBusy = false
        setPhase('editing')
      })
  }

  const payload = payloadOf(form, values)
  return { form, values, messages, refusals, trouble, phase, isAsking, payload, change, commit, submit }
}
