/** Draws a form. After a failed submission, a summary with all messages gets the focus and links to the fields. */
import { type FormEvent, type ReactNode, useEffect, useId, useRef } from 'react'
import { fieldsOf } from '../../core/view/fields.ts'
import { useReachable } from '../api/reach.ts'
import { FieldView } from './field-view.tsx'
import { byField, type Message } from './filling.ts'
import type { Filling } from './use-filling.ts'

interface FormViewProps {
  filling: Filling
  /** The label of the submit button; null for a preview. */
  submitLabel: string | null
  /** Why the form cannot be submitted; null if it can. */
  locked?: string | null
  /** Content next to the button. */
  beside?: ReactNode
}

export function FormView({ filling, submitLabel, locked = null, beside }: FormViewProps) {
  const prefix = useId()
  const { form, values, messages, refusals, trouble, phase, isAsking } = filling
  const fields = fieldsOf(form)
  const wrong = byField(messages)
  const idOf = (field: string) => `${prefix}${field}`
  const isOnline = useReachable()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isOnline && locked === null && submitLabel !== null) filling.submit()
  }
  return (
    <form className="form" onSubmit={submit} noValidate>
      <Summary
        messages={messages}
        refusals={refusals}
        idOf={idOf}
        labels={new Map(fields.map((one) => [one.id, one.label]))}
      />
      {fields.map((field) => (
        <FieldView
          key={field.id}
          field={field}
          id={idOf(field.id)}
          values={values}
          messages={wrong.get(field.id) ?? []}
          isLocked={phase === 'sending' || locked !== null}
          onChange={(value) => filling.change(field.id, value)}
          onCommit={() => filling.commit(field.id)}
        />
      ))}
      {trouble !== null && (
        <p className="notice notice-trouble" role="alert">
          {trouble}
        </p>
      )}
      {!isOnline && locked === null && submitLabel !== null && (
        <p className="field-about" role="status" data-offline="">
          {phase === 'sending'
            ? 'Can’t reach the server. The page tries again for a few seconds.'
            : 'Can’t reach the server. What you typed is kept; you can send it when the connection is back.'}
        </p>
      )}
      {locked !== null && <p className="notice notice-empty">{locked}</p>}
      <div className="form-end">
        {locked === null && submitLabel !== null && (
          <button
            type="submit"
            className="button button-main"
            aria-disabled={phase !== 'editing' || !isOnline ? true : undefined}
          >
            {phase === 'editing' ? submitLabel : phase === 'checking' ? 'Checking…' : 'Sending…'}
          </button>
        )}
        {beside}
        <span className="form-asking" role="status">
          {isAsking && phase === 'editing' ? 'Asking the resolver…' : ''}
        </span>
      </div>
    </form>
  )
}

interface SummaryProps {
  messages: readonly Message[]
  refusals: number
  idOf: (field: string) => string
  labels: ReadonlyMap<string, string>
}

function Summary({ messages, refusals, idOf, labels }: SummaryProps) {
  const ref = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (refusals > 0) ref.current?.focus()
  }, [refusals])
  if (refusals === 0 || messages.length === 0) return null
  const count = messages.length === 1 ? 'One thing has' : `${messages.length} things have`
  return (
    <div className="summary" ref={ref} tabIndex={-1} role="alert">
      <p>{count} to be mended:</p>
      <ul>
        {messages.map(({ field, text }, at) => (
          <li key={`${at} ${text}`}>
            {field === null || !labels.has(field) ? (
              text
            ) : (
              <a
                href={`#${idOf(field)}`}
                onClick={(event) => {
                  event.preventDefault()
                  document.getElementById(idOf(field))?.focus()
                }}
              >
                {labels.get(field)}: {text}
              </a>
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}
