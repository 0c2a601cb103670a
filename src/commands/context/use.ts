/** `resolve context use`: the server, or this machine, that commands use by default (R73). */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { LOCAL, readConfig, writeConfig } from '../../terminal/config/config-file.ts'
import { contextOf, listContexts } from '../../terminal/config/contexts.ts'

export default class ContextUse extends BaseCommand<typeof ContextUse> {
  static override summary = 'Choose the server that commands use'
  static override description =
    '"local" is this machine. --server, --context, RESOLVE_URL and RESOLVE_CONTEXT take precedence.'
  static override examples = ['resolve context use build.example.com', 'resolve context use local']
  static override place = 'always here' as const
  static override args = { name: Args.string({ required: true, description: 'the name of a context, or local' }) }

  declare protected flags: FlagsOf<typeof ContextUse>
  declare protected args: ArgsOf<typeof ContextUse>

  protected async act(): Promise<number> {
    const config = readConfig()
    const { name } = this.args
    const where = name === LOCAL ? 'this machine' : contextOf(config, name).url
    config.context = name
    await writeConfig(config)
    const context = listContexts(config).find((one) => one.name === name)
    if (this.output.json) await this.output.document({ schema: 'resolve.context/1', context })
    else await this.output.result(`Commands use ${where}.`)
    return 0
  }
}
