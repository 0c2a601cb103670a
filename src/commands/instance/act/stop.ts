/** `resolve instance stop`: asks the resolver to end, and kills its processes if they do not. */
import * as Flags from '@oclif/core/flags'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { requiredIdArg } from '../../../terminal/command/flags.ts'
import { reportEndStatus } from '../../../terminal/command/report-end-status.ts'

export default class InstanceStop extends BaseCommand<typeof InstanceStop> {
  static override summary = 'Stop an instance'
  static override description =
    'The resolver gets 30 s to save a checkpoint and end; then its processes are killed. --force kills them at once.'
  static override examples = [
    'resolve instance stop @last --reason "wrong branch"',
    'resolve instance stop 3fa2 --force',
  ]
  static override args = requiredIdArg
  static override flags = {
    reason: Flags.string({ description: 'the reason that the resolver receives', default: 'stopped' }),
    force: Flags.boolean({ description: 'kill the worker at once' }),
  }

  declare protected flags: FlagsOf<typeof InstanceStop>
  declare protected args: ArgsOf<typeof InstanceStop>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    await platform.stop(id, { reason: this.flags.reason, force: this.flags.force })
    return await reportEndStatus(this.output, platform, {
      id,
      wanted: 'cancelled',
      onConnection: this.connection.update,
    })
  }
}
