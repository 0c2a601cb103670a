/** `resolve logout`: forgets the stored token of a context (R73). */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../terminal/command/base-command.ts'
import { LOCAL, readConfig, writeConfig } from '../terminal/config/config-file.ts'
import { contextOf } from '../terminal/config/contexts.ts'
import { usage } from '../terminal/output/command-error.ts'

export default class Logout extends BaseCommand<typeof Logout> {
  static override summary = 'Forget the stored token of a server'
  static override description = `The token stays valid: "resolve token revoke" on the server's machine ends it.
  The context stays, without a token, and this machine is used from now on if it was in use.`
  static override examples = ['resolve logout', 'resolve logout build.example.com']
  static override place = 'always here' as const
  static override args = { context: Args.string({ description: 'the name of a context (default: the one in use)' }) }

  declare protected flags: FlagsOf<typeof Logout>
  declare protected args: ArgsOf<typeof Logout>

  protected async act(): Promise<number> {
    const config = readConfig()
    const name = this.args.context ?? config.context ?? LOCAL
    if (name === LOCAL) throw usage('This machine needs no token; name a context: see "resolve context list".')
    const { token: _token, ...rest } = contextOf(config, name)
    config.contexts[name] = rest
    if (config.context === name) config.context = LOCAL
    await writeConfig(config)
    if (this.output.json)
      await this.output.document({
        schema: 'resolve.context/1',
        context: { name, url: rest.url, signed_in: false, used: false },
      })
    else await this.output.result(`Signed out of ${rest.url}.`)
    return 0
  }
}
