/** `resolve token revoke`: revokes a token; a running server refuses it from the next request on (R38). */
import * as Args from '@oclif/core/args'
import { homeDirectory, openTokens } from '../../core/index.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'
import { tokenDocument, tokenWords, warnOfTokens } from '../../terminal/pages/token-words.ts'

export default class TokenRevoke extends BaseCommand<typeof TokenRevoke> {
  static override summary = 'Revoke a token, or all tokens of one name'
  static override description =
    `A running server refuses the next request with it, and ends its event streams within seconds.
    Tokens from sign-in links are named "sign-in".`
  static override examples = ['resolve token revoke 1f9a03cc', 'resolve token revoke sign-in']
  static override place = 'here' as const
  static override args = { token: Args.string({ required: true, description: 'an id, or a name' }) }

  declare protected flags: FlagsOf<typeof TokenRevoke>
  declare protected args: ArgsOf<typeof TokenRevoke>

  protected async act(): Promise<number> {
    const tokens = openTokens(homeDirectory(process.env))
    const revoked = await tokens.revoke(this.args.token)
    warnOfTokens(this.output, tokens)
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.revoked/1', revoked: revoked.map(tokenDocument) })
    } else {
      for (const entry of revoked) await this.output.result(`${tokenWords(entry)}: revoked.`)
    }
    return EXIT.ok
  }
}
