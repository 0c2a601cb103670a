/** `resolve instance show`: prints the status of an instance, its history, and the commands to run next. */
import * as Flags from '@oclif/core/flags'
import type { JournalEvent } from '../../../core/index.ts'
import { isRepetition } from '../../../core/view/event-words.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { idArg } from '../../../terminal/command/flags.ts'
import { documentOf } from '../../../terminal/follow/finish.ts'
import { nextBesideShow } from '../../../terminal/output/next-steps.ts'
import { showLines } from '../../../terminal/pages/show-lines.ts'

export default class InstanceShow extends BaseCommand<typeof InstanceShow> {
  static override summary = 'Show the status of an instance, its history and what to run next'
  static override examples = ['resolve instance show @last', 'resolve instance show 3fa2 --events 0 --json']
  static override args = idArg
  static override flags = {
    events: Flags.integer({ helpValue: 'N', min: 0, default: 10, description: 'the number of last events to show' }),
  }

  declare protected flags: FlagsOf<typeof InstanceShow>
  declare protected args: ArgsOf<typeof InstanceShow>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    const story = await platform.story(id)
    if (this.output.json) {
      await this.output.document({ ...documentOf(story), next: nextBesideShow(story) })
      return 0
    }
    const last: JournalEvent[] = []
    for await (const event of platform.events(id, { after: Math.max(0, story.lastSeq - this.flags.events) }))
      if (!isRepetition(event.event)) last.push(event)
    for (const line of showLines(this.output, story, this.flags.events === 0 ? [] : last))
      await this.output.result(line)
    return 0
  }
}
