/** `resolve instance explain`: why an instance failed or waits, and what to do about it. */
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { idArg } from '../../../terminal/command/flags.ts'
import { explain } from '../../../terminal/pages/explain.ts'
import { explainLines } from '../../../terminal/pages/explain-lines.ts'

export default class InstanceExplain extends BaseCommand<typeof InstanceExplain> {
  static override summary = 'Tell why an instance failed or waits, and what to run next'
  static override description =
    'Reads and changes nothing: the failing event, how the worker ended, its last words on stderr, open questions.'
  static override examples = ['resolve instance explain @last', 'resolve instance explain 3fa2 --json']
  static override args = idArg

  declare protected flags: FlagsOf<typeof InstanceExplain>
  declare protected args: ArgsOf<typeof InstanceExplain>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    const now = Date.now()
    const told = await explain(platform, id, now)
    if (this.output.json) await this.output.document(told)
    else await this.output.raw(`${explainLines(this.output, told, now).join('\n')}\n`)
    return 0
  }
}
