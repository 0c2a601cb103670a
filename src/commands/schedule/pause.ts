/** `resolve schedule pause` (R72). */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'

export default class SchedulePause extends BaseCommand<typeof SchedulePause> {
  static override summary = 'Pause a schedule'
  static override description = 'Due times that pass meanwhile are not missed.'
  static override examples = ['resolve schedule pause greet']
  static override args = { name: Args.string({ required: true, description: 'its name or id' }) }

  declare protected flags: FlagsOf<typeof SchedulePause>
  declare protected args: ArgsOf<typeof SchedulePause>

  protected async act(): Promise<number> {
    const schedule = await (await this.platform()).schedules.pause(this.args.name, true)
    if (this.output.json) await this.output.document({ schema: 'resolve.schedule/1', schedule })
    else await this.output.result(`${schedule.name}: paused.`)
    return 0
  }
}
