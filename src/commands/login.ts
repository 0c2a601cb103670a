/** `resolve login`: checks a token of a server and stores it as a context (R73). */
import { text as textOf } from 'node:stream/consumers'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { type ErrorCode, ResolveError } from '../core/errors.ts'
import { verifyToken } from '../core/index.ts'
import { cleanLine } from '../core/view/clean.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../terminal/command/base-command.ts'
import { configPath, isContextName, readConfig, writeConfig } from '../terminal/config/config-file.ts'
import { promptSecret } from '../terminal/form/quiet-lines.ts'
import { CommandError, usage } from '../terminal/output/command-error.ts'
import { EXIT } from '../terminal/output/exit-codes.ts'
import { minuteText } from '../terminal/pages/token-words.ts'

export default class Login extends BaseCommand<typeof Login> {
  static override summary = 'Sign in to a server and use it from now on'
  static override description =
    `Asks for a token without echo, or reads it with --token-stdin, and checks it with the server.
  Stores address and token as a context, in a file that only you can read; later commands use it.
  "resolve context use local" returns to this machine.
  "resolve token create" on the server's machine creates a token.`
  static override examples = [
    'resolve login https://build.example.com',
    'resolve login http://127.0.0.1:10120 --name here --token-stdin < token',
  ]
  static override place = 'always here' as const
  static override args = { url: Args.string({ required: true, description: 'the address of the server' }) }
  static override flags = {
    name: Flags.string({ description: 'the name of the context (default: the host)' }),
    'token-stdin': Flags.boolean({ description: 'read the token from stdin' }),
    'no-use': Flags.boolean({ description: 'store it, and go on with the context that is used now' }),
  }

  declare protected flags: FlagsOf<typeof Login>
  declare protected args: ArgsOf<typeof Login>

  protected async act(): Promise<number> {
    const config = readConfig()
    const { url } = this.args
    const name = this.flags.name ?? (URL.canParse(url) ? new URL(url).host : '')
    const token = await this.askToken()
    if (token === undefined) return EXIT.interrupted
    const verified = await verifyToken(url, token).catch((error: unknown) => {
      throw ofLogin(error)
    })
    if (!isContextName(name)) throw usage(`"${cleanLine(name)}" can't name a context; give another with --name.`)
    config.contexts[name] = { url: verified.url, token }
    if (!this.flags['no-use']) config.context = name
    await writeConfig(config)
    const { scope, name: actor, expires_at } = verified
    if (this.output.json) {
      const used = config.context === name
      await this.output.document({
        schema: 'resolve.login/1',
        context: name,
        url: verified.url,
        scope,
        name: actor,
        expires_at,
        used,
      })
      return EXIT.ok
    }
    const until = expires_at === null ? '' : `, until ${minuteText(expires_at)}`
    await this.output.result(`Signed in to ${verified.url} as ${cleanLine(actor)} (scope ${scope}${until}).`)
    this.output.note(
      this.flags['no-use']
        ? `Use it with --context ${name}.`
        : `Commands use the context ${name} from now on; "resolve context use local" returns to this machine.`,
    )
    this.output.note(`The token is stored in ${configPath()}.`)
    return EXIT.ok
  }

  private async askToken(): Promise<string | undefined> {
    if (this.flags['token-stdin']) return (await textOf(process.stdin)).trim()
    if (!this.mayAsk) throw usage('The token is asked for on a terminal; elsewhere use --token-stdin.')
    return (await promptSecret('Token (not shown)'))?.trim()
  }
}

/** The hints of the catalogue name flags and variables, which this command does not use. */
function ofLogin(error: unknown): unknown {
  const hint = error instanceof ResolveError ? HINTS[error.code] : undefined
  return error instanceof ResolveError && hint !== undefined ? new CommandError(error, { hint }) : error
}

const HINTS: Partial<Record<ErrorCode, string>> = {
  token_refused: '"resolve token create" on the server\'s machine creates a token, and prints it once.',
  server_unreachable: 'Check that it is running and that the address is right.',
  server_strange: 'Check the address, and that the server has the same version.',
}
