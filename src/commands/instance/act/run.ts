/** `resolve run`: creates an instance, hosts it in this process, and follows it to its end. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { InstanceRecord } from '../../../core/protocol/instance.ts'
import type { ArgsOf, FlagsOf } from '../../../terminal/command/base-command.ts'
import { parseBudget } from '../../../terminal/command/flags.ts'
import { parseLabels } from '../../../terminal/command/labels.ts'
import { BeginCommand, type Begun, beginFlags } from '../../../terminal/follow/begin-command.ts'
import { pickResolver } from '../../../terminal/input/pickers.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { commandLine } from '../../../terminal/output/shell.ts'

export default class InstanceRun extends BeginCommand<typeof InstanceRun> {
  static override summary = 'Run a resolver and follow it to its end'
  static override description = `Prints the output on stdout at the end, and progress on stderr.
  On a terminal, opens the form if a field is missing or invalid; -i sets fields in advance.
  Leaving (d, a closed terminal, a signal) does not stop the instance: a background host takes over.
  Press Ctrl-C twice to stop the instance.
  Without a terminal, a question ends the command with exit code 8; the instance keeps waiting.
  The command that answers the question is printed.`
  static override aliases = ['run']
  static override examples = [
    'resolve run hello -i name=Ada',
    'resolve run tour --input-file input.json --answers answers.json --json',
    'resolve run tour -i subject=@subject.txt --detach',
    'resolve run tour -i pace=slow --edit',
  ]
  static override args = { resolver: Args.string({ description: 'the name of a resolver' }) }
  static override flags = {
    ...beginFlags,
    'dry-run': Flags.boolean({ description: 'check the input without creating an instance' }),
  }

  declare protected flags: FlagsOf<typeof InstanceRun>
  declare protected args: ArgsOf<typeof InstanceRun>

  /** The new instance; undefined with --dry-run. */
  protected async begin({ session, given }: Begun): Promise<InstanceRecord | undefined> {
    const labels = parseLabels(this.flags.label)
    const budget = parseBudget(this.flags)
    const platform = await this.platform()
    const resolver = await this.resolverName()
    const isDry = this.flags['dry-run']
    const again = (fields: readonly string[]) =>
      commandLine('run', resolver, ...fields, ...this.said, ...(isDry ? ['--dry-run'] : []))
    const input = await this.gather(resolver, given, { session, edit: this.flags.edit, checksNow: isDry, again })
    if (isDry) {
      await this.printDryRun(resolver, input)
      return undefined
    }
    const name = this.flags.name ?? null
    const { executor, host } = this
    return await platform.create({ resolver, input, name, labels, ...budget, executor, host })
  }

  private async resolverName(): Promise<string> {
    if (this.args.resolver !== undefined) return this.args.resolver
    const entries = await (await this.platform()).resolvers()
    if (this.mayPick && entries.length > 0) return await pickResolver(this.output, entries)
    const names = entries.map((entry) => entry.name)
    throw usage(`Name a resolver to run: ${names.join(', ')}.`, { next: names.map((name) => commandLine('run', name)) })
  }
}
