/** `resolve instance rename`: gives an instance another name, or none. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { cleanLine } from '../../../core/view/clean.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { requiredIdArg } from '../../../terminal/command/flags.ts'
import { requireName } from '../../../terminal/command/require-name.ts'
import { documentOf } from '../../../terminal/follow/finish.ts'
import { usage } from '../../../terminal/output/command-error.ts'

export default class InstanceRename extends BaseCommand<typeof InstanceRename> {
  static override summary = 'Rename an instance'
  static override description = `Commands take the name in place of an id.
  Several instances may have one name; a command then refuses it and lists their ids.`
  static override examples = ['resolve instance rename @last nightly', 'resolve instance rename nightly --clear']
  static override args = { ...requiredIdArg, new: Args.string({ description: 'the new name' }) }
  static override flags = { clear: Flags.boolean({ description: 'remove the name' }) }

  declare protected flags: FlagsOf<typeof InstanceRename>
  declare protected args: ArgsOf<typeof InstanceRename>

  protected async act(): Promise<number> {
    const { new: name } = this.args
    if ((name === undefined) !== (this.flags.clear === true)) throw usage('Give a name, or --clear.')
    requireName(name)
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    await platform.rename(id, name ?? null)
    if (this.output.json) await this.output.document(documentOf(await platform.story(id)))
    else this.output.note(name === undefined ? `${id} has no name now.` : `${id} is now "${cleanLine(name)}".`)
    return 0
  }
}
