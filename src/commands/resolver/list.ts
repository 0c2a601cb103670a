/** `resolve resolver list`: lists the resolvers of the catalog. */

import { isUpload } from '../../core/protocol/catalog.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { tableLines } from '../../terminal/output/table.ts'
import { resolverDocument } from '../../terminal/pages/resolver-document.ts'

export default class ResolverList extends BaseCommand<typeof ResolverList> {
  static override summary = 'List the resolvers that can be run'
  static override examples = ['resolve resolver list', 'resolve resolver list --json']

  declare protected flags: FlagsOf<typeof ResolverList>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const entries = await platform.resolvers()
    // A server writes the problem to its log.
    const problem = this.server === undefined ? (await (await this.localPlatform()).catalog()).problem() : null
    const warnings = problem === null ? [] : [`${problem.message} The last valid catalog is used.`]
    for (const warning of warnings) this.output.say(this.output.paint('yellow', warning))
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.resolvers/1', resolvers: entries.map(resolverDocument), warnings })
      return 0
    }
    const rows = entries.map((entry) => [
      entry.name,
      entry.version,
      isUpload(entry) ? 'upload' : entry.kind,
      cleanLine(entry.description),
    ])
    const columns = [
      { title: 'NAME' },
      { title: 'VERSION' },
      { title: 'SOURCE' },
      { title: 'DESCRIPTION', flexible: true },
    ]
    const width = process.stdout.isTTY ? process.stdout.columns : undefined
    for (const line of tableLines(columns, rows, width)) await this.output.result(line)
    return 0
  }
}
