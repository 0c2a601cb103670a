/** What was filled in, as the command that does the same. */
import type { Form, Payload } from '../../core/protocol/form.ts'
import { plainCommand } from '../../core/view/command-line.ts'
import { fieldsOf } from '../../core/view/fields.ts'
import { payloadOf } from './filling.ts'

/** `resolve run NAME -i field=value …`; what stands as the form has it by default is left out. */
export function runCommand(resolver: string, form: Form | null, values: Payload): string {
  const flags = form === null ? [] : fieldsOf(form).flatMap((field) => flagOf(field, payloadOf(form, values)[field.id]))
  return plainCommand('run', resolver, ...flags)
}

function flagOf(field: { id: string; default: unknown }, value: unknown): string[] {
  const standing = field.default ?? (typeof value === 'boolean' ? false : '')
  if (value === undefined || value === standing) return []
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // A value that begins with @ would be read from a file.
  return ['-i', `${field.id}=${text.startsWith('@') ? '@' : ''}${text}`]
}
