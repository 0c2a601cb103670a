/** `resolve context list`: this machine and the servers that were signed in to (R73). */
import { BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { readConfig } from '../../terminal/config/config-file.ts'
import { listContexts } from '../../terminal/config/contexts.ts'
import { tableLines } from '../../terminal/output/table.ts'

const COLUMNS = [
  { title: 'USED' },
  { title: 'NAME', flexible: true },
  { title: 'SERVER', flexible: true },
  { title: 'TOKEN' },
]

export default class ContextList extends BaseCommand<typeof ContextList> {
  static override summary = 'List the servers that commands can use'
  static override examples = ['resolve context list', 'resolve context list --json']
  static override place = 'always here' as const

  declare protected flags: FlagsOf<typeof ContextList>

  protected async act(): Promise<number> {
    const contexts = listContexts(readConfig())
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.contexts/1', contexts })
      return 0
    }
    const rows = contexts.map(({ name, url, signed_in, used }) => [
      ...[used ? '*' : '', name, url ?? 'this machine'],
      url === null ? '-' : signed_in ? 'stored' : 'none',
    ])
    const width = process.stdout.isTTY ? process.stdout.columns : undefined
    for (const line of tableLines(COLUMNS, rows, width)) await this.output.result(line)
    return 0
  }
}
