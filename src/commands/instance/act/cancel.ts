/** `resolve instance cancel`: ends an instance permanently. */
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { requiredIdArg } from '../../../terminal/command/flags.ts'
import { reportEndStatus } from '../../../terminal/command/report-end-status.ts'

export default class InstanceCancel extends BaseCommand<typeof InstanceCancel> {
  static override summary = 'Cancel an instance'
  static override examples = ['resolve instance cancel @last']
  static override args = requiredIdArg

  declare protected flags: FlagsOf<typeof InstanceCancel>
  declare protected args: ArgsOf<typeof InstanceCancel>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    await platform.cancel(id)
    return await reportEndStatus(this.output, platform, {
      id,
      wanted: 'cancelled',
      onConnection: this.connection.update,
    })
  }
}
