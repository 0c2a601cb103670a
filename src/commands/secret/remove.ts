/** `resolve secret remove`: removes a named secret of the operator (R55). */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'

export default class SecretRemove extends BaseCommand<typeof SecretRemove> {
  static override summary = 'Remove a named secret'
  static override description =
    'Workers that run keep it; resolvers that name it cannot be started until it is set again.'
  static override examples = ['resolve secret remove DEPLOY_KEY']
  static override args = { name: Args.string({ required: true, description: 'the name of a secret' }) }

  declare protected flags: FlagsOf<typeof SecretRemove>
  declare protected args: ArgsOf<typeof SecretRemove>

  protected async act(): Promise<number> {
    const secret = await (await this.platform()).secrets.remove(this.args.name)
    if (this.output.json) await this.output.document({ schema: 'resolve.secret/1', secret, removed: true })
    else await this.output.result(`${secret.name} removed.`)
    return EXIT.ok
  }
}
