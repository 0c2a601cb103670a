/** `resolve schedule add`: creates instances of a resolver at due times (R72). */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { FormCheck } from '../../core/index.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { budgetFlags, inputFlags, parseBudget } from '../../terminal/command/flags.ts'
import { fitToDisclosed, readInput } from '../../terminal/input/input-flags.ts'
import { scheduleWords } from '../../terminal/pages/schedule-lines.ts'

export default class ScheduleAdd extends BaseCommand<typeof ScheduleAdd> {
  static override summary = 'Run a resolver at due times'
  static override description = `"resolve serve" runs schedules: it creates one instance at each due time.
  A due time is skipped while the instance before has not ended.
  A due time that passed while no server ran is missed, and told.
  With --catch-up one, the last of the missed ones is run late.
  The expression has five fields: minute hour day month weekday.`
  static override examples = [
    'resolve schedule add "0 7 * * 1-5" hello -i name=Ada',
    'resolve schedule add @hourly hello -i name=Ada --name greet --timezone Europe/Berlin',
  ]
  static override args = {
    cron: Args.string({ required: true, description: 'when: "0 7 * * 1-5", @hourly, @daily' }),
    resolver: Args.string({ required: true, description: 'the name of a resolver' }),
  }
  static override flags = {
    ...inputFlags,
    name: Flags.string({ description: "its name, also of its instances (default: the resolver's)" }),
    ...budgetFlags,
    timezone: Flags.string({ helpValue: 'ZONE', description: 'such as Europe/Berlin (default: that of this machine)' }),
    'catch-up': Flags.string({
      options: ['none', 'one'],
      default: 'none',
      description: 'what to do about due times that were missed',
    }),
  }

  declare protected flags: FlagsOf<typeof ScheduleAdd>
  declare protected args: ArgsOf<typeof ScheduleAdd>

  protected async act(): Promise<number> {
    const budget = parseBudget(this.flags)
    const given = await readInput(this.flags)
    const platform = await this.platform()
    const { cron, resolver } = this.args
    const ask = async (input: Record<string, unknown>): Promise<Pick<FormCheck, 'form'>> =>
      // A resolver that cannot be asked now takes the input as it is.
      await platform.check(resolver, input).catch(() => ({ form: null }))
    const { payload: input } = await fitToDisclosed(given, ask)
    const { name, timezone = new Intl.DateTimeFormat().resolvedOptions().timeZone, 'catch-up': catchUp } = this.flags
    const schedule = await platform.schedules.add(
      {
        ...{ cron, resolver, input, timezone, catch_up: catchUp === 'one' ? 'one' : 'none' },
        ...(name === undefined ? {} : { name }),
        ...budget,
      },
      this.actor,
    )
    if (this.output.json) await this.output.document({ schema: 'resolve.schedule/1', schedule })
    else {
      await this.output.result(schedule.name)
      this.output.note(scheduleWords(schedule))
      if (this.server === undefined) this.output.note('It runs while "resolve serve" does.')
    }
    return 0
  }
}
