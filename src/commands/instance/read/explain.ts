/** `resolve instance explain`: prints why an instance failed or waits, and the commands to run next. */
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { idArg } from '../../../terminal/command/flags.ts'
import { isAtTerminal } from '../../../terminal/output/next-steps.ts'
import { explain } from '../../../terminal/pages/explain.ts'
import { explainLines } from '../../../terminal/pages/explain-lines.ts'

export default class InstanceExplain extends BaseCommand<typeof InstanceExplain> {
  static override summary = 'Explain why an instance failed or waits, and what to run next'
  static override description =
    'Shows the failing event, how the worker ended, its last stderr lines and open questions. Changes nothing.'
  static override examples = ['resolve instance explain @last', 'resolve instance explain 3fa2 --json']
  static override args = idArg

  declare protected flags: FlagsOf<typeof InstanceExplain>
  declare protected args: ArgsOf<typeof InstanceExplain>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    const now = Date.now()
    const explanation = await explain(platform, id, now, this.output.forPerson && isAtTerminal())
    if (this.output.json) await this.output.document(explanation)
    else await this.output.raw(`${explainLines(this.output, explanation, now).join('\n')}\n`)
    return 0
  }
}
