/** `resolve notify test`: sends a test to a target of notifications. */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'

export default class NotifyTest extends BaseCommand<typeof NotifyTest> {
  static override summary = 'Send a test to a target of notifications'
  static override description = 'Sends it once. The exit code is 1 if the target did not take it.'
  static override examples = ['resolve notify test ops']
  static override args = { name: Args.string({ required: true, description: 'the name of a target' }) }

  declare protected flags: FlagsOf<typeof NotifyTest>
  declare protected args: ArgsOf<typeof NotifyTest>

  protected async act(): Promise<number> {
    const { name } = this.args
    const { delivered, error } = await (await this.platform()).notify.test(name)
    if (this.output.json) await this.output.document({ schema: 'resolve.notify-test/1', name, delivered, error })
    else await this.output.result(delivered ? `${name} took it.` : `${name} did not take it: ${error}.`)
    return delivered ? EXIT.ok : EXIT.failed
  }
}
