/** `resolve watch`: replays the events of an instance and follows it to its end, from any terminal. */
import * as Flags from '@oclif/core/flags'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { idArg, jsonlFlag } from '../../../terminal/command/flags.ts'
import { planSession, runSession } from '../../../terminal/follow/session.ts'

export default class InstanceWatch extends BaseCommand<typeof InstanceWatch> {
  static override summary = 'Replay the events of an instance, then follow it to its end'
  static override description = `Ends with the same exit codes as run. Ctrl-C leaves; the instance continues.
  On a terminal, opens the form of a question. Without one, shows the question and keeps waiting.`
  static override aliases = ['watch']
  static override examples = ['resolve watch @last', 'resolve watch 3fa2 --jsonl --since 120']
  static override args = idArg
  static override flags = {
    ...jsonlFlag,
    verbose: Flags.boolean({ description: 'also show what the worker prints and logs' }),
    since: Flags.integer({ helpValue: 'N', min: 0, default: 0, description: 'show only events after this number' }),
  }

  declare protected flags: FlagsOf<typeof InstanceWatch>
  declare protected args: ArgsOf<typeof InstanceWatch>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id, ['created', 'starting', 'running', 'awaiting_input', 'paused'])
    const { lastSeq } = await platform.story(id)
    await platform.ensureHost(id)
    return await runSession({
      ...(await planSession(
        { 'on-input': this.mayAsk ? 'prompt' : 'wait', verbose: this.flags.verbose },
        this.mayNotAsk,
      )),
      platform,
      id,
      output: this.output,
      actor: this.actor,
      live: this.mayDraw,
      watching: true,
      stopOnSignal: false,
      showFrom: this.flags.since + 1,
      actFrom: lastSeq,
    })
  }
}
