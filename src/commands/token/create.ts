/** `resolve token create`: creates a token for the HTTP API of this home and prints it once (R38). */
import * as Flags from '@oclif/core/flags'
import { homeDirectory, openTokens } from '../../core/index.ts'
import { SCOPES } from '../../core/protocol/http.ts'
import { BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { parseDuration } from '../../terminal/command/duration.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'
import { tokenDocument, tokenWords, warnOfTokens } from '../../terminal/pages/token-words.ts'

export default class TokenCreate extends BaseCommand<typeof TokenCreate> {
  static override summary = 'Create a token for the server and print it once'
  static override description = `Only a digest is stored. If you lose a token, revoke it and create another one.
  A running server accepts it immediately.
  Scope read: read instances and their files, but not the stderr of workers.
  Scope run: also read stderr and act on instances. Scope admin: also manage the server.`
  static override examples = [
    'resolve token create --name ada --scope run',
    'resolve token create --name dashboard --scope read --expires never',
    'resolve token create --scope run --instance 4f0c --expires 8h',
  ]
  static override place = 'here' as const
  static override flags = {
    name: Flags.string({ description: 'who uses it; journals record this name' }),
    scope: Flags.string({ options: [...SCOPES], default: 'run', description: 'what the token allows' }),
    instance: Flags.string({ helpValue: 'ID', description: 'limit the token to this instance' }),
    expires: Flags.string({ helpValue: 'DUR|never', default: '30d', description: 'how long it is valid: 8h, 30d' }),
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
