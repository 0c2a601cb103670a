/** `resolve schedule remove` (R72). */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'

export default class ScheduleRemove extends BaseCommand<typeof ScheduleRemove> {
  static override summary = 'Remove a schedule'
  static override description = 'Its instances go on.'
  static override examples = ['resolve schedule remove greet']
  static override args = { name: Args.string({ required: true, description: 'its name or id' }) }

  declare protected flags: FlagsOf<typeof ScheduleRemove>
  declare protected args: ArgsOf<typeof ScheduleRemove>

  protected async act(): Promise<number> {
    const schedule = await (await this.platform()).schedules.remove(this.args.name)
    if (this.output.json) await this.output.document({ schema: 'resolve.schedule/1', schedule })
    else await this.output.result(`${schedule.name}: removed.`)
    return 0
  }
}
