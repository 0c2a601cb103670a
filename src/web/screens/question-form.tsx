/** The form of a question: half-typed answers stay in this tab, and whose form it is stands beside the button (threats UI-4). */
import { memo, useRef } from 'react'
import type { Form } from '../../core/protocol/form.ts'
import { answer } from '../api/calls.ts'
import { FormView } from '../forms/form-view.tsx'
import { useFilling } from '../forms/use-filling.ts'
import { useMayAct } from '../parts/use-session.ts'

interface QuestionFormProps {
  instance: string
  resolver: string
  request: { id: string; schema: Form }
  onAnswered?: () => void
  /** True before an answer goes out, false where it was refused: the events may tell of it before the server's own answer is here. */
  onSending?: (request: string, isSending: boolean) => void
}

export function draftOf(instance: string, request: string): string {
  return `answer.${instance}.${request}`
}

/** Drawn again only when it is typed in, however much happens around it. */
export const QuestionForm = memo(function QuestionForm({
  instance,
  resolver,
  request,
  onAnswered,
  onSending,
}: QuestionFormProps) {
  const mayAct = useMayAct()
  // A form does not change while its question is open; a new object each time would only cost.
  const form = useRef(request.schema)
  const filling = useFilling({
    form: form.current,
    draft: draftOf(instance, request.id),
    submit: async (payload) => {
      onSending?.(request.id, true)
      await answer(instance, request.id, payload).catch((error: unknown) => {
        onSending?.(request.id, false)
        throw error
      })
      onAnswered?.()
    },
  })
  return (
    <FormView
      filling={filling}
      submitLabel="Answer"
      locked={mayAct ? null : 'Your token may only look: it can’t answer.'}
      beside={<span className="quiet">The form comes from {resolver}.</span>}
    />
  )
})
