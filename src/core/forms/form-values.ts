/** The values of a form before and while it is filled in; the terminal and the page call it (spec, Progressive disclosure). */
import type { Form, Payload } from '../protocol/form.ts'

/** The declared defaults of selects and checkboxes, by component id. */
export function defaults(form: Form): Payload {
  const values: Payload = {}
  for (const component of form.components) {
    if ('default' in component && component.default !== undefined) values[component.id] = component.default
  }
  return values
}

/** The values of fields that the form declares. The value of a field that is no longer shown is not sent. */
export function visibleValues(form: Form, values: Payload): Payload {
  const visible: Payload = {}
  for (const { id } of form.components) {
    if (Object.hasOwn(values, id)) visible[id] = values[id]
  }
  return visible
}
