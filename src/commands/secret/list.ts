/** `resolve secret list`: lists the named secrets of the operator, without their values (R55). */
import type { SecretInfo } from '../../core/index.ts'
import { agoText } from '../../core/view/time-words.ts'
import { BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'
import { commandLine } from '../../terminal/output/shell.ts'
import { tableLines } from '../../terminal/output/table.ts'

export default class SecretList extends BaseCommand<typeof SecretList> {
  static override summary = 'List the named secrets, without their values'
  static override examples = ['resolve secret list', 'resolve secret list --json']

  declare protected flags: FlagsOf<typeof SecretList>

  protected async act(): Promise<number> {
    const secrets = await (await this.platform()).secrets.list()
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.secrets/1', secrets })
      return EXIT.ok
    }
    if (secrets.length === 0) {
      this.output.note(`There is no secret yet; set one with "${commandLine('secret', 'set', 'NAME')}".`)
      return EXIT.ok
    }
    const now = Date.now()
    const rows = secrets.map(({ name, from, updated_at }) => [name, WORDS[from], agoText(updated_at, now)])
    const width = process.stdout.isTTY ? process.stdout.columns : undefined
    for (const line of tableLines(COLUMNS, rows, width)) await this.output.result(line)
    return EXIT.ok
  }
}

const COLUMNS = [{ title: 'NAME', flexible: true }, { title: 'FROM' }, { title: 'SET' }]

const WORDS: Record<SecretInfo['from'], string> = { value: 'stored', env: 'variable', command: 'command' }
