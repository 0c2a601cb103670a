/** `resolve run`: creates an instance, hosts it in this process, and follows it to its end. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { InstanceRecord } from '../../../core/protocol/instance.ts'
import type { Executor } from '../../../core/protocol/journal.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { followFlags, inputFlags } from '../../../terminal/command/flags.ts'
import { beforeFollowing } from '../../../terminal/command/signals.ts'
import { documentOf } from '../../../terminal/follow/finish.ts'
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
    executor: Flags.string({
      options: ['auto', 'local', 'docker'],
      default: 'auto',
      description: 'where the worker runs',
    }),
    name: Flags.string({ description: 'a name that people recognise' }),
    'dry-run': Flags.boolean({ description: 'check the input without creating an instance' }),
    edit: Flags.boolean({ description: 'open the form even if no field is missing' }),
  }

  declare protected flags: FlagsOf<typeof InstanceRun>
  declare protected args: ArgsOf<typeof InstanceRun>

  protected async act(): Promise<number> {
    this.refuseWithDetach()
    const session = await planSession(this.flags, this.mayNotAsk)
    const record = await beforeFollowing(() => this.begin(session))
    if (record === undefined) return 0
    this.about = record.instance_id
    if (this.flags.detach) return await this.printDetached(record.instance_id)
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

  /** These flags act while the run is followed; with --detach the command returns before that. */
  private refuseWithDetach(): void {
    if (!this.flags.detach) return
    for (const flag of ['answers', 'timeout', 'on-input'] as const) {
      if (this.flags[flag] === undefined) continue
      throw usage(`--${flag} cannot be used with --detach: it needs a command that follows the run.`)
    }
  }

  /** The new instance; undefined with --dry-run. */
  private async begin(session: SessionPlan): Promise<InstanceRecord | undefined> {
    const given = await readInput(this.flags)
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

  private async printDetached(id: string): Promise<number> {
    if (this.output.forPerson) {
      await this.output.result(id)
      const where = this.server === undefined ? 'in the background' : 'on the server'
      this.output.note(`Running ${where}. ${this.output.paint('cyan', commandLine('instance', 'watch', id))}`)
      return 0
    }
    const instance = documentOf(await (await this.platform()).story(id))
    if (this.output.json) await this.output.document(instance)
    else await this.output.raw(`${JSON.stringify({ type: 'left', reason: 'detached', instance })}\n`)
    return 0
  }
}
