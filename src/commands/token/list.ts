/** `resolve token list`: lists the tokens of this home, without their text (R38). */
import { homeDirectory, isExpired, openTokens, type TokenEntry } from '../../core/index.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { agoText } from '../../core/view/time-words.ts'
import { BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'
import { tableLines } from '../../terminal/output/table.ts'
import { minuteText, tokenDocument, warnOfTokens } from '../../terminal/pages/token-words.ts'

export default class TokenList extends BaseCommand<typeof TokenList> {
  static override summary = 'List the tokens of the server'
  static override examples = ['resolve token list', 'resolve token list --json']
  static override place = 'here' as const

  declare protected flags: FlagsOf<typeof TokenList>

  protected async act(): Promise<number> {
    const tokens = openTokens(homeDirectory(process.env))
    const entries = tokens.list()
    warnOfTokens(this.output, tokens)
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.tokens/1', tokens: entries.map(tokenDocument) })
      return EXIT.ok
    }
    if (entries.length === 0) {
      this.output.note('There is no token yet; create one with "resolve token create".')
      return EXIT.ok
    }
    const now = Date.now()
    const width = process.stdout.isTTY ? process.stdout.columns : undefined
    for (const line of tableLines(COLUMNS, entries.map(rowAt(now)), width)) await this.output.result(line)
    return EXIT.ok
  }
}

const COLUMNS = [
  { title: 'ID' },
  { title: 'NAME', flexible: true },
  { title: 'SCOPE' },
  { title: 'INSTANCE', flexible: true },
  { title: 'CREATED', flexible: true },
  { title: 'EXPIRES' },
]

function rowAt(now: number): (entry: TokenEntry) => string[] {
  return (entry) => [
    ...[entry.id, cleanLine(entry.name), entry.scope, entry.instance ?? 'all', agoText(entry.created_at, now)],
    isExpired(entry, now) ? 'expired' : entry.expires_at === null ? 'never' : minuteText(entry.expires_at),
  ]
}
