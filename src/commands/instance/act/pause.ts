/** `resolve instance pause`: asks the resolver to save a checkpoint and end its run; `resume` continues it. */
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { requiredIdArg } from '../../../terminal/command/flags.ts'
import { reportEndStatus } from '../../../terminal/command/report-end-status.ts'

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
    return await reportEndStatus(this.output, platform, { id, wanted: 'paused', onConnection: this.connection.update })
  }
}
