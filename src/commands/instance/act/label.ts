/** `resolve instance label`: sets and removes labels of an instance. */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { parseLabelChanges } from '../../../terminal/command/labels.ts'
import { documentOf } from '../../../terminal/follow/finish.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { labelText } from '../../../terminal/pages/label-text.ts'

export default class InstanceLabel extends BaseCommand<typeof InstanceLabel> {
  static override summary = 'Set or remove labels of an instance'
  static override description =
    'key=value sets a label, key- removes it. The command prints the labels that it has then.'
  static override examples = [
    'resolve instance label @last team=red stage=test',
    'resolve instance label nightly stage-',
  ]
  static override strict = false
  static override args = {
    id: Args.string({ description: 'an id, a prefix of one, @last, or a name', required: true }),
    label: Args.string({ description: 'key=value, or key-; several are accepted', required: true }),
  }

  declare protected flags: FlagsOf<typeof InstanceLabel>
  declare protected args: ArgsOf<typeof InstanceLabel>

  protected async act(): Promise<number> {
    const [reference, ...given] = this.words
    if (given.length === 0) throw usage('Give labels: key=value, or key- to remove one.')
    const labels = parseLabelChanges(given)
    const platform = await this.platform()
    const id = await this.instanceId(reference)
    const record = await platform.edit(id, { labels })
    if (this.output.json) await this.output.document(documentOf(await platform.story(id)))
    else await this.output.result(labelText(record.labels ?? {}))
    return 0
  }
}
