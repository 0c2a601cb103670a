/** `resolve secret set`: sets a named secret of the operator (R55). */
import { text as textOf } from 'node:stream/consumers'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { SecretContent } from '../../core/index.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { promptSecret } from '../../terminal/form/quiet-lines.ts'
import { usage } from '../../terminal/output/command-error.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'

export default class SecretSet extends BaseCommand<typeof SecretSet> {
  static override summary = 'Set a named secret'
  static override description = `Resolvers whose manifest names it get it in their config, as credentials.NAME.
  The value is asked for without echo, or read from stdin. It is stored encrypted, with the key file of the home.
  With --from-env or --command, no value is stored: hosts read it at each launch of a worker.`
  static override examples = [
    'resolve secret set DEPLOY_KEY',
    'resolve secret set DEPLOY_KEY < deploy-key',
    "resolve secret set DEPLOY_KEY --command 'pass show deploy-key'",
  ]
  static override args = { name: Args.string({ required: true, description: 'letters, digits and "_"' }) }
  static override flags = {
    'from-env': Flags.string({ helpValue: 'VAR', description: 'hosts read it from this environment variable' }),
    command: Flags.string({ helpValue: 'CMD', description: 'hosts get it from this shell command' }),
  }

  declare protected flags: FlagsOf<typeof SecretSet>
  declare protected args: ArgsOf<typeof SecretSet>

  protected async act(): Promise<number> {
    const content = await this.content()
    if (content === undefined) return EXIT.interrupted
    const secret = await (await this.platform()).secrets.set(this.args.name, content)
    if (this.output.json) await this.output.document({ schema: 'resolve.secret/1', secret, removed: false })
    else await this.output.result(`${secret.name} is set.`)
    return EXIT.ok
  }

  private async content(): Promise<SecretContent | undefined> {
    const { 'from-env': variable, command } = this.flags
    if (variable !== undefined && command !== undefined) throw usage('Give --from-env or --command, not both.')
    if (variable !== undefined) {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(variable)) throw usage(`"${variable}" can't name an environment variable.`)
      return { from: 'env', text: variable }
    }
    if (command !== undefined) return { from: 'command', text: command }
    if (process.stdin.isTTY !== true)
      return { from: 'value', text: (await textOf(process.stdin)).replace(/\r?\n$/, '') }
    if (!this.mayAsk) throw usage('The value is read from stdin, or asked for on a terminal.')
    const value = await promptSecret(`Value of ${this.args.name} (not shown)`)
    return value === undefined ? undefined : { from: 'value', text: value }
  }
}
