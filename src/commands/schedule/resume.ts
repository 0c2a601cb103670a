/** `resolve schedule resume` (R72). */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'

export default class ScheduleResume extends BaseCommand<typeof ScheduleResume> {
  static override summary = 'Resume a paused schedule'
  static override description = 'It is due next at the first due time from now on.'
  static override examples = ['resolve schedule resume greet']
  static override args = { name: Args.string({ required: true, description: 'its name or id' }) }

  declare protected flags: FlagsOf<typeof ScheduleResume>
  declare protected args: ArgsOf<typeof ScheduleResume>

  protected async act(): Promise<number> {
    const schedule = await (await this.platform()).schedules.pause(this.args.name, false)
    if (this.output.json) await this.output.document({ schema: 'resolve.schedule/1', schedule })
    else await this.output.result(`${schedule.name}: resumed.`)
    return 0
  }
}
