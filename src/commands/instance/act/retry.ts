/** `resolve instance retry`: runs an instance again, as a new instance with the same input, and follows it as `run` does. */
import * as Flags from '@oclif/core/flags'
import { fail } from '../../../core/errors.ts'
import type { InstanceRecord, Platform } from '../../../core/index.ts'
import { withLabels } from '../../../core/protocol/instance.ts'
import type { Executor } from '../../../core/protocol/journal.ts'
import { askAgain, retryInput } from '../../../core/view/retry-input.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { executorFlag, followFlags, inputFlags, labelFlag, requiredIdArg } from '../../../terminal/command/flags.ts'
import { parseLabels } from '../../../terminal/command/labels.ts'
import { beforeFollowing } from '../../../terminal/command/signals.ts'
import { printDetached, refuseWithDetach } from '../../../terminal/follow/detached.ts'
import { planSession, runSession, type SessionPlan } from '../../../terminal/follow/session.ts'
import { gatherInput } from '../../../terminal/input/gather-input.ts'
import { readInput } from '../../../terminal/input/input-flags.ts'
import { CommandError, usage } from '../../../terminal/output/command-error.ts'
import { commandLine } from '../../../terminal/output/shell.ts'
import { isCi } from '../../../terminal/output/surroundings.ts'

export default class InstanceRetry extends BaseCommand<typeof InstanceRetry> {
  static override summary = 'Run an instance again with the same input'
  static override description = `Creates a new instance of the same resolver and follows it as run does.
  The input is that of the old one; -i and --input-file replace fields of it.
  Name and labels are taken over. Secret fields are asked again.`
  static override examples = [
    'resolve instance retry @last',
    'resolve instance retry 3fa2 -i subject=tides --label attempt=2',
    'resolve instance retry nightly --detach',
  ]
  static override args = requiredIdArg
  static override flags = {
    ...inputFlags,
    ...followFlags,
    detach: Flags.boolean({ char: 'd', description: 'run in the background: print the id and return' }),
    executor: executorFlag,
    name: Flags.string({ description: 'another name' }),
    label: labelFlag,
    edit: Flags.boolean({ description: 'open the form even if no field is missing' }),
  }

  declare protected flags: FlagsOf<typeof InstanceRetry>
  declare protected args: ArgsOf<typeof InstanceRetry>

  protected async act(): Promise<number> {
    refuseWithDetach(this.flags)
    const session = await planSession(this.flags, this.mayNotAsk)
    const platform = await this.platform()
    const record = await beforeFollowing(() => this.begin(platform, session))
    this.about = record.instance_id
    if (this.flags.detach) {
      await printDetached(this.output, platform, { id: record.instance_id, isRemote: this.server !== undefined })
      return 0
    }
    return await runSession({
      ...session,
      platform,
      id: record.instance_id,
      output: this.output,
      actor: this.actor,
      live: this.mayDraw,
      watching: false,
      stopOnSignal: isCi(),
    })
  }

  private async begin(platform: Platform, session: SessionPlan): Promise<InstanceRecord> {
    const { name, label, edit, detach } = this.flags
    const executor = this.flags.executor as Executor | 'auto'
    const given = await readInput(this.flags)
    const labels = parseLabels(label)
    const { creation } = await platform.story(await this.instanceId(this.args.id))
    const resolver = creation.resolver.name
    const { input: payload, missing } = retryInput(creation, given.payload)
    // Its setup failed before its form was known, so its input is kept sealed (R48).
    const isSealed = creation.unchecked === true && Object.keys(given.payload).length === 0
    if (isSealed && !this.mayAsk)
      throw usage('Its input was never checked, so it was kept sealed: give it again with -i or --input-file.')
    if (missing.length > 0 && !this.mayAsk) {
      const secrets = missing.flatMap((field) => ['-i', `${field}=@file`])
      const next = [commandLine('instance', 'retry', creation.instance_id, ...secrets)]
      throw new CommandError(fail('form_invalid', askAgain(missing)), { next })
    }
    const input = await gatherInput(
      platform,
      resolver,
      { payload, named: given.named },
      {
        mayAsk: this.mayAsk,
        // Secret fields are asked again.
        edit: edit || missing.length > 0 || isSealed,
        executor,
        output: this.output,
        checksNow: false,
        timeoutMs: session.timeoutMs,
        onPrepared: (durationMs) => {
          if (session.timeoutMs !== undefined) session.timeoutMs = Math.max(0, session.timeoutMs - durationMs)
        },
      },
    )
    return await platform.create({
      resolver,
      input,
      executor,
      name: name ?? creation.name,
      labels: withLabels(creation.labels ?? {}, labels),
      parent_id: creation.instance_id,
      host: detach ? 'background' : 'here',
    })
  }
}
