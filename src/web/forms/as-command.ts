/** Converts the values of a form to the equivalent command, for "Copy as CLI". */
import type { Form, Payload } from '../../core/protocol/form.ts'
import { plainCommand } from '../../core/view/command-line.ts'
import { fieldsOf } from '../../core/view/fields.ts'
import { payloadOf } from './filling.ts'

/** `resolve run NAME -i field=value …`; leaves out values that equal the form's defaults. */
export function runCommand(resolver: string, form: Form | null, values: Payload): string {
  const flags = form === null ? [] : fieldsOf(form).flatMap((field) => flagOf(field, payloadOf(form, values)[field.id]))
  return plainCommand('run', resolver, ...flags)
}

function flagOf(field: { id: string; default: unknown; secret: boolean }, value: unknown): string[] {
  // A command line is visible to other programs: the value is read from a file.
  if (field.secret)
    return typeof value === 'string' && value !== '' ? ['-i', `${field.id}=@<file with ${field.id}>`] : []
  const standing = field.default ?? (typeof value === 'boolean' ? false : '')
  if (value === undefined || value === standing) return []
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // The CLI reads a value that begins with @ from a file.
  return ['-i', `${field.id}=${text.startsWith('@') ? '@' : ''}${text}`]
}
