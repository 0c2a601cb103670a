/** `resolve context show`: one context, by default the one that commands use here and now (R73). */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { chosenServer } from '../../terminal/command/server-choice.ts'
import { LOCAL, readConfig } from '../../terminal/config/config-file.ts'
import { contextOf, listContexts } from '../../terminal/config/contexts.ts'

export default class ContextShow extends BaseCommand<typeof ContextShow> {
  static override summary = 'Show which server commands use, and why'
  static override examples = ['resolve context show', 'resolve context show build.example.com']
  static override place = 'always here' as const
  static override args = { name: Args.string({ description: 'the name of a context' }) }

  declare protected flags: FlagsOf<typeof ContextShow>
  declare protected args: ArgsOf<typeof ContextShow>

  protected async act(): Promise<number> {
    const config = readConfig()
    const chosen = this.args.name === undefined ? chosenServer({}) : undefined
    const name = this.args.name ?? chosen?.context ?? LOCAL
    if (name !== LOCAL) contextOf(config, name)
    const listed = listContexts(config).find((one) => one.name === name)
    const context = { ...listed, ...(chosen === undefined ? {} : { url: chosen.url }), from: chosen?.from ?? null }
    if (this.output.json) await this.output.document({ schema: 'resolve.context/1', context })
    else {
      const why = chosen === undefined ? '' : ` (${chosen.from})`
      await this.output.result(`${context.url ?? 'this machine'}${why}`)
    }
    return 0
  }
}
