/** Draws one field: label, description, control, and its messages. */
import { EXAMPLE_FEATURE_SPEC } from '../../core/feature-spec/example.ts'
import type { Payload } from '../../core/protocol/form.ts'
import { type Field, valueIn } from '../../core/view/fields.ts'

export interface FieldViewProps {
  field: Field
  /** The DOM id, unique in the page. */
  id: string
  values: Payload
  messages: readonly string[]
  isLocked: boolean
  onChange: (value: unknown) => void
  onCommit: () => void
}

export function FieldView({ field, id, values, messages, isLocked, onChange, onCommit }: FieldViewProps) {
  const described = [
    field.description === '' ? '' : `${id}-about`,
    ...messages.map((_, at) => `${id}-wrong-${at}`),
  ].filter((part) => part !== '')
  const shared = {
    id,
    name: field.id,
    'aria-invalid': messages.length > 0 ? true : undefined,
    'aria-describedby': described.length > 0 ? described.join(' ') : undefined,
    'aria-required': field.required ? true : undefined,
    readOnly: isLocked,
  }
  const about = field.description !== '' && (
    <p className="field-about" id={`${id}-about`}>
      {field.description}
    </p>
  )
  const wrong = messages.map((text, at) => (
    <p className="field-wrong" id={`${id}-wrong-${at}`} key={`${at} ${text}`}>
      {text}
    </p>
  ))
  const value = valueIn(field, values)
  if (field.kind === 'checkbox') {
    const { readOnly: _, ...rest } = shared
    return (
      <div className="field field-check" data-field={field.id}>
        <input
          {...rest}
          type="checkbox"
          checked={value === true}
          onChange={(event) => {
            if (isLocked) return
            onChange(event.target.checked)
            onCommit()
          }}
        />
        <div>
          <Label id={id} field={field} />
          {about}
          {wrong}
        </div>
      </div>
    )
  }
  return (
    <div className="field" data-field={field.id}>
      <Label id={id} field={field} />
      {about}
      <Control field={field} shared={shared} value={value} onChange={onChange} onCommit={onCommit} />
      {field.format === 'feature-spec' && (value === '' || value === undefined) && !isLocked && (
        <button
          type="button"
          className="button field-example"
          onClick={() => {
            onChange(EXAMPLE_FEATURE_SPEC)
            document.getElementById(id)?.focus()
          }}
        >
          Start from an example
        </button>
      )}
      {wrong}
    </div>
  )
}

function Label({ id, field }: { id: string; field: Field }) {
  return (
    <label htmlFor={id}>
      {field.label}
      {field.required && <span className="field-required"> (required)</span>}
    </label>
  )
}

interface ControlProps {
  field: Field
  shared: { id: string; name: string; readOnly: boolean }
  value: unknown
  onChange: (value: unknown) => void
  onCommit: () => void
}

/** Turns off autofill: the form comes from a resolver, which must not get stored secrets of the browser (threats UI-4). */
const NO_AUTOFILL = { autoComplete: 'off', spellCheck: false, 'data-1p-ignore': true, 'data-lpignore': 'true' } as const

function Control({ field, shared, value, onChange, onCommit }: ControlProps) {
  const text = typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)
  if (field.kind === 'select') {
    const { readOnly, ...rest } = shared
    const isKnown = field.options.some((option) => option.value === text)
    return (
      <select
        {...rest}
        disabled={readOnly}
        value={text}
        onChange={(event) => {
          onChange(event.target.value)
          onCommit()
        }}
      >
        {!isKnown && <option value={text}>{text === '' ? 'Choose…' : text}</option>}
        {field.options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    )
  }
  const typing = {
    ...shared,
    ...NO_AUTOFILL,
    value: text,
    placeholder: field.placeholder,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
    onBlur: onCommit,
  }
  if (field.kind === 'textarea') return <textarea {...typing} rows={field.format === null ? 4 : 20} />
  if (field.secret) {
    const { value, ...rest } = typing
    const show = (input: HTMLInputElement | null) => {
      if (input !== null && input.value !== value) input.value = value
    }
    // React would write the value of a controlled field into the document too, as an attribute that styles and saved pages have. "off" does
    // not keep a browser from filling in a stored password; "new-password" does.
    return <input {...rest} ref={show} type="password" autoComplete="new-password" />
  }
  if (field.kind === 'text') return <input {...typing} type="text" />
  return <p className="field-wrong">This page does not know fields of type “{field.type}”.</p>
}
