/** The form of an input request. Drafts stay in this tab; a note names the resolver that the form comes from (threats UI-4). */
import { memo, useRef } from 'react'
import type { Form } from '../../core/protocol/form.ts'
import { answer } from '../api/calls.ts'
import { FormView } from '../forms/form-view.tsx'
import { focusAfterAnswer } from '../forms/next-question.ts'
import { useFilling } from '../forms/use-filling.ts'
import { useMayAct } from '../parts/use-session.ts'

interface RequestFormProps {
  instance: string
  resolver: string
  request: { id: string; schema: Form }
  onAnswered?: () => void
  /** Called with true before an answer is sent, with false if it was refused: its event can arrive before the response. */
  onSending?: (request: string, isSending: boolean) => void
}

export function draftOf(instance: string, request: string): string {
  return `answer.${instance}.${request}`
}

/** Memoised: renders only when its own values change. */
export const RequestForm = memo(function RequestForm({
  instance,
  resolver,
  request,
  onAnswered,
  onSending,
}: RequestFormProps) {
  const mayAct = useMayAct()
  // The form of an open request does not change; a stable object avoids renders.
  const form = useRef(request.schema)
  const filling = useFilling({
    form: form.current,
    draft: draftOf(instance, request.id),
    submit: async (payload) => {
      onSending?.(request.id, true)
      const card = document.querySelector(`[data-request-id="${CSS.escape(request.id)}"]:has(:focus)`)
      await answer(instance, request.id, payload).catch((error: unknown) => {
        onSending?.(request.id, false)
        throw error
      })
      focusAfterAnswer(card, { instance, request: request.id })
      onAnswered?.()
    },
  })
  return (
    <FormView
      filling={filling}
      submitLabel="Answer"
      locked={mayAct ? null : 'Your token can only read: it can’t answer.'}
      beside={<span className="quiet">The form comes from {resolver}.</span>}
    />
  )
})
