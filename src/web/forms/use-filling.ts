/**
 * A form while a person fills it in: values, messages, fields that come and go, one submission at a time. Where `disclose` is
 * given the resolver is asked for the form again after a field is committed, and once more before it is submitted (R10).
 */
import { useEffect, useRef, useState } from 'react'
import type { Form, FormCheck, Payload } from '../../core/protocol/form.ts'
import { Problem, sentenceOf } from '../api/problem.ts'
import { checkInPage } from './check-in-page.ts'
import { dropDraft, keepDraft, readDraft } from './drafts.ts'
import { type Message, messagesOf, payloadOf } from './filling.ts'

export interface FillingPlan {
  /** As it is before anything is filled in. */
  form: Form
  /** Under which the values are kept in this tab. */
  draft: string
  before?: Payload
  /** The form for this input and what its checks say; a newer question aborts the older. */
  disclose?: (input: Payload, signal: AbortSignal) => Promise<FormCheck>
  /** Throws a `Problem`; one of a form shows its messages. */
  submit: (payload: Payload) => Promise<void>
  /** After it was taken, and the draft was dropped. */
  onDone?: () => void
}

export interface Filling {
  form: Form
  values: Payload
  messages: readonly Message[]
  /** Counts the submissions that failed: each takes the focus to the summary. */
  refusals: number
  /** A sentence beside the button: trouble that is no failing check. */
  trouble: string | null
  phase: 'editing' | 'checking' | 'sending'
  /** Whether the resolver is asked for the form just now. */
  isAsking: boolean
  payload: Payload
  change: (id: string, value: unknown) => void
  /** A field was left, or a choice made. */
  commit: (id: string) => void
  submit: () => void
}

/** A resolver whose form never comes to rest is asked no more than this in a row. */
const ROUNDS_MAX = 3

export function useFilling(plan: FillingPlan): Filling {
  const [form, setForm] = useState(plan.form)
  const [values, setValues] = useState<Payload>(() => ({ ...plan.before, ...readDraft(plan.draft) }))
  const [messages, setMessages] = useState<readonly Message[]>([])
  const [refusals, setRefusals] = useState(0)
  const [trouble, setTrouble] = useState<string | null>(null)
  const [phase, setPhase] = useState<Filling['phase']>('editing')
  const [isAsking, setAsking] = useState(false)
  // What handlers read between two drawings.
  const now = useRef({ form, values, askedWith: '', asking: undefined as AbortController | undefined, isBusy: false })

  useEffect(() => {
    const { current } = now
    // A draft can hold what brings more fields: the form for it is asked for at once.
    if (plan.disclose !== undefined && Object.keys(current.values).length > 0) void disclose()
    return () => current.asking?.abort()
  }, [])

  const show = (next: Form) => {
    now.current.form = next
    setForm(next)
  }

  /** Undefined where a newer question has taken its place. */
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

  /** Whether the form at hand is the one for another input than what would be submitted. */
  const isOther = () => {
    const { form, values, askedWith } = now.current
    return JSON.stringify(payloadOf(form, values)) !== askedWith
  }

  const disclose = async () => {
    if (plan.disclose === undefined || !isOther()) return
    await askForm().then(
      () => setTrouble(null),
      (error: unknown) => setTrouble(sentenceOf(error)),
    )
  }

  const change = (id: string, value: unknown) => {
    const next = { ...now.current.values, [id]: value }
    now.current.values = next
    setValues(next)
    keepDraft(plan.draft, next)
    // What was said of the field is being dealt with.
    setMessages((before) => before.filter((message) => message.field !== id))
  }

  const commit = (id: string) => {
    const { current } = now
    void disclose()
    const asked = current.values
    void checkInPage(current.form, payloadOf(current.form, asked)).then((failing) => {
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
    // The form for this input may bring a default along, and with it another form.
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
      .catch((error: unknown) => setTrouble(sentenceOf(error)))
      .finally(() => {
        current.isBusy = false
        setPhase('editing')
      })
  }

  const payload = payloadOf(form, values)
  return { form, values, messages, refusals, trouble, phase, isAsking, payload, change, commit, submit }
}
