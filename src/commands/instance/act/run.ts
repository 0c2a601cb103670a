/** `resolve run`: creates an instance, hosts it in this process, and follows it to its end. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { InstanceRecord } from '../../../core/protocol/instance.ts'
import type { Executor } from '../../../core/protocol/journal.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { executorFlag, followFlags, inputFlags, labelFlag } from '../../../terminal/command/flags.ts'
import { parseLabels } from '../../../terminal/command/labels.ts'
import { beforeFollowing } from '../../../terminal/command/signals.ts'
import { printDetached, refuseWithDetach } from '../../../terminal/follow/detached.ts'
import { planSession, runSession, type SessionPlan } from '../../../terminal/follow/session.ts'
import { gatherInput } from '../../../terminal/input/gather-input.ts'
import { readInput } from '../../../terminal/input/input-flags.ts'
import { pickResolver } from '../../../terminal/input/pickers.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { commandLine } from '../../../terminal/output/shell.ts'
import { isCi } from '../../../terminal/output/surroundings.ts'

export default class InstanceRun extends BaseCommand<typeof InstanceRun> {
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
    ...inputFlags,
    ...followFlags,
    detach: Flags.boolean({ char: 'd', description: 'run in the background: print the id and return' }),
    executor: executorFlag,
    name: Flags.string({ description: 'a name that people recognise; commands take it in place of the id' }),
    label: labelFlag,
    'dry-run': Flags.boolean({ description: 'check the input without creating an instance' }),
    edit: Flags.boolean({ description: 'open the form even if no field is missing' }),
  }

  declare protected flags: FlagsOf<typeof InstanceRun>
  declare protected args: ArgsOf<typeof InstanceRun>

  protected async act(): Promise<number> {
    refuseWithDetach(this.flags)
    const session = await planSession(this.flags, this.mayNotAsk)
    const record = await beforeFollowing(() => this.begin(session))
    if (record === undefined) return 0
    this.about = record.instance_id
    if (this.flags.detach) {
      const platform = await this.platform()
      await printDetached(this.output, platform, { id: record.instance_id, isRemote: this.server !== undefined })
      return 0
    }
    return await runSession({
      ...session,
      platform: await this.platform(),
      id: record.instance_id,
      output: this.output,
      actor: this.actor,
      live: this.mayDraw,
      watching: false,
      stopOnSignal: isCi(),
    })
  }

  /** The new instance; undefined with --dry-run. */
  private async begin(session: SessionPlan): Promise<InstanceRecord | undefined> {
    const given = await readInput(this.flags)
    const labels = parseLabels(this.flags.label)
    const platform = await this.platform()
    const resolver = await this.resolverName()
    const input = await gatherInput(platform, resolver, given, {
      mayAsk: this.mayAsk,
      edit: this.flags.edit,
      executor: this.flags.executor as Executor | 'auto',
      output: this.output,
      checksNow: this.flags['dry-run'],
      timeoutMs: session.timeoutMs,
      onPrepared: (durationMs) => {
        if (session.timeoutMs !== undefined) session.timeoutMs = Math.max(0, session.timeoutMs - durationMs)
      },
    })
    if (this.flags['dry-run']) {
      await this.printDryRun(resolver, input)
      return undefined
    }
    return await platform.create({
      resolver,
      input,
      name: this.flags.name ?? null,
      labels,
      executor: this.flags.executor as Executor | 'auto',
      host: this.flags.detach ? 'background' : 'here',
    })
  }

  private async resolverName(): Promise<string> {
    if (this.args.resolver !== undefined) return this.args.resolver
    const entries = await (await this.platform()).resolvers()
    if (this.mayPick && entries.length > 0) return await pickResolver(this.output, entries)
    const names = entries.map((entry) => entry.name)
    throw usage(`Name a resolver to run: ${names.join(', ')}.`, { next: names.map((name) => commandLine('run', name)) })
  }

  private async printDryRun(resolver: string, input: Record<string, unknown>): Promise<void> {
    if (this.output.forPerson) await this.output.result(`The input is valid for ${resolver}. No instance was created.`)
    else {
      const document = { schema: 'resolve.check/1', resolver, valid: true, input }
      if (this.output.json) await this.output.document(document)
      else await this.output.raw(`${JSON.stringify(document)}\n`)
    }
  }
}
