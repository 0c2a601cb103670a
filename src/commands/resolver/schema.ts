/** `resolve resolver schema`: prints the form of a resolver for the values given so far (progressive disclosure, R10). */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { Form, Payload } from '../../core/index.ts'
import type { Component } from '../../core/protocol/form.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { inputFlags } from '../../terminal/command/flags.ts'
import { fitToDisclosed, readInput } from '../../terminal/input/input-flags.ts'
import { whenPrepared } from '../../terminal/input/when-prepared.ts'
import { everyFieldFlag } from '../../terminal/output/next-steps.ts'
import { commandLine } from '../../terminal/output/shell.ts'

export default class ResolverSchema extends BaseCommand<typeof ResolverSchema> {
  static override summary = 'Print the form of a resolver'
  static override description = 'With -i, prints the form for these values: some fields appear only for certain values.'
  static override examples = [
    'resolve resolver schema tour',
    'resolve resolver schema tour -i plaque=yes --json',
    'resolve resolver schema tour --example',
  ]
  static override args = { name: Args.string({ required: true, description: 'the name of a resolver' }) }
  static override flags = {
    ...inputFlags,
    example: Flags.boolean({ description: 'print a run command with all fields' }),
  }

  declare protected flags: FlagsOf<typeof ResolverSchema>
  declare protected args: ArgsOf<typeof ResolverSchema>

  protected async act(): Promise<number> {
    const { name } = this.args
    const given = await readInput(this.flags)
    const { form, params } = await this.disclosed(name, given)
    const example = commandLine('run', name, ...everyFieldFlag(form?.components ?? [], params))
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.form/1', resolver: name, params, form, example })
    } else if (this.flags.example) await this.output.result(example)
    else if (form === null) this.output.note(`${name} has no form: it accepts any input.`)
    else if (form.components.length === 0) this.output.note(`The form of ${name} has no fields.`)
    else for (const line of form.components.flatMap(fieldLines)) await this.output.result(line)
    return 0
  }

  /** The final form for the values: casting a checkbox may disclose another field. */
  private async disclosed(
    name: string,
    given: Awaited<ReturnType<typeof readInput>>,
  ): Promise<{ form: Form | null; params: Payload }> {
    const platform = await this.platform()
    const { payload, asked } = await fitToDisclosed(given, async (params) => ({
      // R52: without values the resolver is asked for the form of none.
      form: await whenPrepared(platform, name, { output: this.output }, () =>
        platform.schema(name, Object.keys(params).length === 0 ? null : params, { waitMs: 0 }),
      ),
    }))
    return { form: asked.form, params: payload }
  }
}

function fieldLines(component: Component): string[] {
  const lines = [`${component.id}  (${component.type})  ${cleanLine(component.label ?? '')}`.trimEnd()]
  if (component.description !== undefined) lines.push(`  ${cleanLine(component.description)}`)
  if (component.type === 'select') {
    for (const option of component.options)
      lines.push(`  - ${cleanLine(String(option.value))}: ${cleanLine(option.label)}`)
  }
  if ('default' in component && component.default !== undefined)
    lines.push(`  default: ${cleanLine(String(component.default))}`)
  for (const check of component.checks ?? []) lines.push(`  must hold: ${cleanLine(check.message)}`)
  return lines
}
