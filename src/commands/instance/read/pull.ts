/** `resolve instance pull`: fetches the work of an instance into a clone of one's own. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { cleanLine } from '../../../core/view/clean.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { chooseRepo } from '../../../terminal/input/choose-repo.ts'
import { pullWork } from '../../../terminal/input/pull-work.ts'

export default class InstancePull extends BaseCommand<typeof InstancePull> {
  static override summary = 'Fetch the work of an instance into a clone of yours'
  static override description = `Makes a branch "resolve/REPO-ID" of the work, also of what was never committed.
    Where a branch of that name has other commits, the new one gets a number; yours are not changed.
    Pushed branches become remote branches "resolve-ID/BRANCH".
    A clone with changes that are not committed is refused.`
  static override examples = ['resolve instance pull @last', 'resolve instance pull 3fa2 app --into ~/src/app --switch']
  static override args = {
    id: Args.string({ description: 'an id, a prefix of one, @last, or a name' }),
    repo: Args.string({ description: 'the repository; needed where there is more than one' }),
  }
  static override flags = {
    into: Flags.string({ helpValue: 'DIR', default: '.', description: 'the clone (default: the current directory)' }),
    switch: Flags.boolean({ description: 'check the branch out' }),
  }

  declare protected flags: FlagsOf<typeof InstancePull>
  declare protected args: ArgsOf<typeof InstancePull>

  protected async act(): Promise<undefined> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    const repo = await chooseRepo(platform, id, this.args.repo)
    const { into, switch: isSwitched } = this.flags
    const pulled = await pullWork(platform, { id, repo, into, isSwitched })
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.pulled/1', instance_id: id, repo, ...pulled })
      return
    }
    for (const { branch, commit } of pulled.branches) await this.output.result(`${cleanLine(branch)}  ${commit}`)
    if (pulled.switched_to !== null) this.output.note(`Switched to ${cleanLine(pulled.switched_to)}.`)
    else if (pulled.branch !== null) this.output.note(this.output.paint('cyan', `git switch ${pulled.branch}`))
  }
}
