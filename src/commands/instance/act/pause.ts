/** `resolve instance pause`: asks the resolver to checkpoint and stop for now. */
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { tellEnd } from '../../../terminal/command/end-receipt.ts'
import { requiredIdArg } from '../../../terminal/command/flags.ts'

export default class InstancePause extends BaseCommand<typeof InstancePause> {
  static override summary = 'Pause an instance at its next checkpoint'
  static override examples = ['resolve instance pause @last']
  static override args = requiredIdArg

  declare protected flags: FlagsOf<typeof InstancePause>
  declare protected args: ArgsOf<typeof InstancePause>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    await platform.pause(id)
    return await tellEnd(this.output, platform, { id, wanted: 'paused', onConnection: this.connection.hear })
  }
}
