/** `resolve notify remove`: removes a target of notifications. */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'

export default class NotifyRemove extends BaseCommand<typeof NotifyRemove> {
  static override summary = 'Remove a target of notifications'
  static override description = 'What waits to be sent to it is not sent any more.'
  static override examples = ['resolve notify remove ops']
  static override args = { name: Args.string({ required: true, description: 'the name of a target' }) }

  declare protected flags: FlagsOf<typeof NotifyRemove>
  declare protected args: ArgsOf<typeof NotifyRemove>

  protected async act(): Promise<number> {
    const target = await (await this.platform()).notify.remove(this.args.name)
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.notify-target/1', target, secret: null, removed: true })
    } else await this.output.result(`${target.name} removed.`)
    return EXIT.ok
  }
}
