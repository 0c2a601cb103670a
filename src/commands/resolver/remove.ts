/** `resolve resolver remove`: removes a resolver from the catalog; its instances stay. */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { resolverDocument } from '../../terminal/pages/resolver-document.ts'

export default class ResolverRemove extends BaseCommand<typeof ResolverRemove> {
  static override summary = 'Remove a resolver from the catalog'
  static override description = `Its instances stay, also those that run, and paused ones can be resumed.
  On a server (--server, a context) this needs a token with scope admin.`
  static override examples = ['resolve resolver remove plan']
  static override args = { name: Args.string({ required: true, description: 'the name of a resolver' }) }

  declare protected flags: FlagsOf<typeof ResolverRemove>
  declare protected args: ArgsOf<typeof ResolverRemove>

  protected async act(): Promise<number> {
    const entry = await (await this.platform()).removeResolver(this.args.name)
    if (this.output.json)
      await this.output.document({ schema: 'resolve.resolver/1', resolver: resolverDocument(entry), removed: true })
    else await this.output.result(`${entry.name} removed.`)
    return 0
  }
}
