/** `resolve resolver show`: prints one entry of the catalog. */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { resolverDocument, resolverLines } from '../../terminal/pages/resolver-document.ts'

export default class ResolverShow extends BaseCommand<typeof ResolverShow> {
  static override summary = 'Show a resolver: where it comes from and what it runs'
  static override examples = ['resolve resolver show tour', 'resolve resolver show tour --json']
  static override args = { name: Args.string({ required: true, description: 'the name of a resolver' }) }

  declare protected flags: FlagsOf<typeof ResolverShow>
  declare protected args: ArgsOf<typeof ResolverShow>

  protected async act(): Promise<number> {
    const entry = await (await this.platform()).resolver(this.args.name)
    if (this.output.json)
      await this.output.document({ schema: 'resolve.resolver/1', resolver: resolverDocument(entry) })
    else for (const line of resolverLines(entry)) await this.output.result(line)
    return 0
  }
}
