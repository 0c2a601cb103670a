/** `resolve instance retry`: runs an instance again, as a new instance with the same input, and follows it as `run` does. */
import * as Flags from '@oclif/core/flags'
import { fail } from '../../../core/errors.ts'
import type { InstanceRecord } from '../../../core/index.ts'
import { budgetIn, withLabels } from '../../../core/protocol/instance.ts'
import { nameTakenOver } from '../../../core/protocol/names.ts'
import { askAgain, retryInput } from '../../../core/view/retry-input.ts'
import type { ArgsOf, FlagsOf } from '../../../terminal/command/base-command.ts'
import { parseBudget, requiredIdArg } from '../../../terminal/command/flags.ts'
import { parseLabels } from '../../../terminal/command/labels.ts'
import { BeginCommand, type Begun, beginFlags } from '../../../terminal/follow/begin-command.ts'
import type { GivenInput } from '../../../terminal/input/input-flags.ts'
import { CommandError, usage } from '../../../terminal/output/command-error.ts'
import { commandLine } from '../../../terminal/output/shell.ts'

export default class InstanceRetry extends BeginCommand<typeof InstanceRetry> {
  static override summary = 'Run an instance again with the same input'
  static override description = `Creates a new instance of the same resolver and follows it as run does.
  The input is that of the old one; -i and --input-file replace fields of it.
  Name, labels and budget are taken over. Secret fields are asked again.`
  static override examples = [
    'resolve instance retry @last',
    'resolve instance retry 3fa2 -i subject=tides --label attempt=2',
    'resolve instance retry nightly --detach',
  ]
  static override args = requiredIdArg
  static override flags = { ...beginFlags, name: Flags.string({ description: 'another name' }) }

  declare protected flags: FlagsOf<typeof InstanceRetry>
  declare protected args: ArgsOf<typeof InstanceRetry>

  protected async begin({ session, given }: Begun): Promise<InstanceRecord> {
    const { name, label, edit } = this.flags
    const labels = parseLabels(label)
    const budget = parseBudget(this.flags)
    const platform = await this.platform()
    const { creation } = await platform.story(await this.instanceId(this.args.id))
    const resolver = creation.resolver.name
    const { input: payload, missing } = retryInput(creation, given.payload)
    // Its setup failed before its form was known, so its input is kept sealed (R48).
    const isSealed = creation.unchecked === true && Object.keys(given.payload).length === 0
    if (isSealed && !this.mayAsk)
      throw usage('Its input was never checked, so it was kept sealed: give it again with -i or --input-file.')
    const again = (fields: readonly string[]) =>
      commandLine('instance', 'retry', creation.instance_id, ...fields, ...this.said)
    if (missing.length > 0 && !this.mayAsk) {
      const secrets = missing.flatMap((field) => ['-i', `${field}=@file`])
      const next = [again([...typedFlags(given, creation.secret_fields ?? []), ...secrets])]
      throw new CommandError(fail('form_invalid', askAgain(missing)), { next })
    }
    // Secret fields are asked again.
    const opens = edit || missing.length > 0 || isSealed
    const input = await this.gather(
      resolver,
      { ...given, payload },
      { session, edit: opens, checksNow: false, again, changed: new Set(Object.keys(given.payload)) },
    )
    return await platform.create({
      resolver,
      input,
      ...budgetIn(creation),
      ...budget,
      executor: this.executor,
      name: name ?? nameTakenOver(creation.name),
      labels: withLabels(creation.labels ?? {}, labels),
      parent_id: creation.instance_id,
      host: this.host,
    })
  }
}

/** What was given, as it was typed; the value of a secret field only as a file (R55). */
function typedFlags({ typed = {}, file }: GivenInput, secret: readonly string[]): string[] {
  const flags = Object.entries(typed).map(([field, text]) => {
    const isFile = text.startsWith('@') && !text.startsWith('@@')
    return `${field}=${isFile || !secret.includes(field) ? text : '@file'}`
  })
  return [...(file === undefined ? [] : ['--input-file', file]), ...flags.flatMap((flag) => ['-i', flag])]
}
