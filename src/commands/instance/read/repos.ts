/** `resolve instance repos`: lists the repositories of an instance, with what was pushed and kept of each. */
import { cleanLine } from '../../../core/view/clean.ts'
import { ageText } from '../../../core/view/time-words.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { idArg } from '../../../terminal/command/flags.ts'
import { tableLines } from '../../../terminal/output/table.ts'

export default class InstanceRepos extends BaseCommand<typeof InstanceRepos> {
  static override summary = 'List the repositories of an instance'
  static override examples = ['resolve instance repos @last', 'resolve instance repos 3fa2 --json']
  static override args = idArg

  declare protected flags: FlagsOf<typeof InstanceRepos>
  declare protected args: ArgsOf<typeof InstanceRepos>

  protected async act(): Promise<undefined> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    const repos = await platform.git.repos(id)
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.repos/1', instance_id: id, repos })
      return
    }
    if (repos.length === 0) {
      this.output.note('The instance has no repository.')
      return
    }
    const short = (commit: string | null) => (commit === null ? '-' : commit.slice(0, SHORT))
    const rows = repos.map(({ name, url, working_branch, start, pushed, snapshot }) => [
      cleanLine(name),
      short(start),
      cleanLine(working_branch),
      short(pushed),
      snapshot === null ? '-' : `${snapshot.seq}, ${ageText(snapshot.at, Date.now())}`,
      cleanLine(url),
    ])
    const columns = ['REPO', 'START', 'BRANCH', 'PUSHED', 'SNAPSHOT', 'UPSTREAM'].map((title, at) => ({
      title,
      flexible: at === 5,
    }))
    const width = process.stdout.isTTY ? process.stdout.columns : undefined
    for (const line of tableLines(columns, rows, width)) await this.output.result(line)
  }
}

const SHORT = 10
