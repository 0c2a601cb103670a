/** What stands in a form before and while it is filled in: for the terminal and the page (spec, Progressive disclosure). */
import type { Form, Payload } from '../protocol/form.ts'

/** The defaults its selects and checkboxes declare, by component id. */
export function defaults(form: Form): Payload {
  const values: Payload = {}
  for (const component of form.components) {
    if ('default' in component && component.default !== undefined) values[component.id] = component.default
  }
  return values
}

/** Of these values, those the form declares a field for: what a field that has gone held is not shown or sent again. */
export function visibleValues(form: Form, values: Payload): Payload {
  const visible: Payload = {}
  for (const { id } of form.components) {
    if (Object.hasOwn(values, id)) visible[id] = values[id]
  }
  return visible
}
