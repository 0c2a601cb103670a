/** `resolve schedule list`: the schedules, when each is due next, and what became of the last due time (R72). */
import { BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { scheduleTable } from '../../terminal/pages/schedule-lines.ts'

export default class ScheduleList extends BaseCommand<typeof ScheduleList> {
  static override summary = 'List the schedules'
  static override examples = ['resolve schedule list', 'resolve schedule list --json']

  declare protected flags: FlagsOf<typeof ScheduleList>

  protected async act(): Promise<number> {
    const schedules = await (await this.platform()).schedules.list()
    if (this.output.json) await this.output.document({ schema: 'resolve.schedules/1', schedules })
    else if (schedules.length === 0) {
      this.output.note('There is no schedule yet; add one with "resolve schedule add".')
    } else {
      const width = process.stdout.isTTY ? process.stdout.columns : undefined
      for (const line of scheduleTable(schedules, width)) await this.output.result(line)
    }
    return 0
  }
}
