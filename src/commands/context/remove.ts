/** `resolve context remove`: forgets a server and its token (R73). */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { LOCAL, readConfig, writeConfig } from '../../terminal/config/config-file.ts'
import { contextOf } from '../../terminal/config/contexts.ts'
import { usage } from '../../terminal/output/command-error.ts'

export default class ContextRemove extends BaseCommand<typeof ContextRemove> {
  static override summary = 'Forget a server and its token'
  static override examples = ['resolve context remove build.example.com']
  static override place = 'always here' as const
  static override args = { name: Args.string({ required: true, description: 'the name of a context' }) }

  declare protected flags: FlagsOf<typeof ContextRemove>
  declare protected args: ArgsOf<typeof ContextRemove>

  protected async act(): Promise<number> {
    const config = readConfig()
    const { name } = this.args
    if (name === LOCAL) throw usage('"local" is this machine; it cannot be removed.')
    const { url } = contextOf(config, name)
    delete config.contexts[name]
    if (config.context === name) config.context = LOCAL
    await writeConfig(config)
    const context = { name, url, signed_in: false, used: false }
    if (this.output.json) await this.output.document({ schema: 'resolve.context/1', context })
    else await this.output.result(`${name} removed.`)
    return 0
  }
}
