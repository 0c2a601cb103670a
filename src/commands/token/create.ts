/** `resolve token create`: makes a token for the HTTP API of this machine's home and prints it, once (R38). */
import * as Flags from '@oclif/core/flags'
import { homeDirectory, openTokens } from '../../core/index.ts'
import { SCOPES } from '../../core/protocol/http.ts'
import { BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { parseDuration } from '../../terminal/command/duration.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'
import { tokenDocument, tokenWords, warnOfTokens } from '../../terminal/pages/token-words.ts'

export default class TokenCreate extends BaseCommand<typeof TokenCreate> {
  static override summary = 'Make a token for the server, and print it once'
  static override description = `Only a digest is kept: a token that is lost is revoked, and another one made.
A running server takes it at once.
read sees instances and their files, but not what workers write to stderr.
run sees that too and acts on instances; admin also looks after the server.`
  static override examples = [
    'resolve token create --name ada --scope run',
    'resolve token create --name dashboard --scope read --expires never',
    'resolve token create --scope run --instance 4f0c --expires 8h',
  ]
  static override place = 'here' as const
  static override flags = {
    name: Flags.string({ description: 'who acts with it, as journals tell it' }),
    scope: Flags.string({ options: [...SCOPES], default: 'run', description: 'what it may do' }),
    instance: Flags.string({ helpValue: 'ID', description: 'let it know of this instance only' }),
    expires: Flags.string({ helpValue: 'DUR|never', default: '30d', description: 'how long it is good: 8h, 30d' }),
  }

  declare protected flags: FlagsOf<typeof TokenCreate>

  protected async act(): Promise<number> {
    const { name, scope, instance, expires } = this.flags
    const expiresMs = expires.trim() === 'never' ? null : parseDuration(expires)
    const id = instance === undefined ? null : await (await this.localPlatform()).find(instance)
    const tokens = openTokens(homeDirectory(process.env))
    const { token, entry } = await tokens.create({
      ...(name === undefined ? {} : { name }),
      scope: SCOPES.find((one) => one === scope) ?? 'run',
      ...{ instance: id, expiresMs },
    })
    warnOfTokens(this.output, tokens)
    if (this.output.json) await this.output.document({ schema: 'resolve.token/1', token, ...tokenDocument(entry) })
    else {
      await this.output.raw(`${token}\n`)
      this.output.note(`${tokenWords(entry)}. It is not shown again.`)
    }
    return EXIT.ok
  }
}
