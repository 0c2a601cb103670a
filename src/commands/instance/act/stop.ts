/** `resolve instance stop`: asks the resolver to end; what does not end is killed. */
import * as Flags from '@oclif/core/flags'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { tellEnd } from '../../../terminal/command/end-receipt.ts'
import { requiredIdArg } from '../../../terminal/command/flags.ts'

export default class InstanceStop extends BaseCommand<typeof InstanceStop> {
  static override summary = 'Stop an instance'
  static override description =
    'The resolver has 30 s to checkpoint and end; then its processes are ended. --force ends them at once.'
  static override examples = [
    'resolve instance stop @last --reason "wrong branch"',
    'resolve instance stop 3fa2 --force',
  ]
  static override args = requiredIdArg
  static override flags = {
    reason: Flags.string({ description: 'what the resolver is told', default: 'stopped' }),
    force: Flags.boolean({ description: 'kill the worker at once' }),
  }

  declare protected flags: FlagsOf<typeof InstanceStop>
  declare protected args: ArgsOf<typeof InstanceStop>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    await platform.stop(id, { reason: this.flags.reason, force: this.flags.force })
    return await tellEnd(this.output, platform, { id, wanted: 'cancelled', onConnection: this.connection.hear })
  }
}
