/** The form of a pipeline from its `<name>.resolver.yaml`, and the inputs from what was filled in. */
import type { Component, Form } from '../../core/protocol/form.ts'
import type { PipelineParam, ResolverFile } from './resolver-file.ts'

export function formOf({ params }: ResolverFile): Form {
  return { type: 'form', components: params.map(componentOf) }
}

function componentOf({ id, input, label, description, options, ...param }: PipelineParam): Component {
  const mustFill = param.required && param.default === undefined
  const common = {
    id,
    label,
    ...(description === undefined ? {} : { description }),
    ...(mustFill
      ? {
          checks: [
            {
              condition: { call: 'required' as const, args: [{ path: `/${id}` }] as [{ path: string }] },
              message: `${label} is required`,
            },
          ],
        }
      : {}),
  }
  if (input === 'choice')
    return {
      type: 'select',
      ...common,
      options: [...options],
      ...(param.default === undefined ? {} : { default: param.default }),
    }
  const type = input === 'text' ? 'text' : 'textarea'
  return { type, ...common, ...(param.default === undefined ? {} : { placeholder: param.default }) }
}

/** The values of the params, those that are left out with their defaults. Other keys stay as they are. */
export function inputsOf({ params }: ResolverFile, filled: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const missing = params.flatMap(({ id, default: value }) => {
    const given = Object.hasOwn(filled, id) ? filled[id] : undefined
    return given === undefined || given === null || given === '' ? [[id, value ?? ''] as const] : []
  })
  return { ...filled, ...Object.fromEntries(missing) }
}

/** What is not filled in and has to be. */
export function missingOf(
  file: ResolverFile,
  filled: Readonly<Record<string, unknown>>,
): { id: string; message: string }[] {
  const inputs = inputsOf(file, filled)
  return file.params.flatMap(({ id, label, required }) =>
    required && String(inputs[id] ?? '').trim() === '' ? [{ id, message: `${label} is required` }] : [],
  )
}
