/**
 * What every command shares: the global flags, the streams, the platform it talks to, and one way to end. oclif parses and
 * describes; it prints no error and sets no exit code, since under `--json` it would turn 2 and 3 into 1 (docs/cli.md, Ending).
 */
import { userInfo } from 'node:os'
import type { Command, Interfaces } from '@oclif/core'
import * as Flags from '@oclif/core/flags'
import { parse } from '@oclif/core/parser'
import type { LocalPlatform, Platform } from '../../core/index.ts'
import type { Actor } from '../../core/protocol/instance.ts'
import type { Status } from '../../core/protocol/status.ts'
import { usage } from '../output/command-error.ts'
import { connectionEar, connectionLine, isConnectionError, lostError } from '../output/connection.ts'
import { EXIT } from '../output/exit-codes.ts'
import { type Output, outputFrom } from '../output/output.ts'
import { carryFlags, commandLine } from '../output/shell.ts'
import { builtinsDirectory, isCi, isScreenReader, surroundings } from '../output/surroundings.ts'
import { withoutValues } from './bug-report.ts'
import { reportError } from './report-error.ts'
import { type ChosenServer, chosenServer, openServer, type Place, refuseElsewhere } from './server-choice.ts'

/** What a command says of itself: what oclif's parser and its help read. */
export interface Described {
  summary?: string | undefined
  description?: string | undefined
  aliases: string[]
  examples: Command.Example[]
  args: Interfaces.ArgInput
  flags: Interfaces.FlagInput
  baseFlags: Interfaces.FlagInput
  strict: boolean
  /** Default: anywhere. */
  place?: Place
}

export type FlagsOf<T extends Described> = Interfaces.InferredFlags<(typeof BaseCommand)['baseFlags'] & T['flags']>
export type ArgsOf<T extends Described> = Interfaces.InferredArgs<T['args']>

export abstract class BaseCommand<T extends Described> {
  static id = ''
  static summary: string | undefined
  static description: string | undefined
  static aliases: string[] = []
  static examples: Command.Example[] = []
  static args: Interfaces.ArgInput = {}
  static flags: Interfaces.FlagInput = {}
  static strict = true
  static baseFlags = {
    json: Flags.boolean({ description: 'print one JSON document on stdout', helpGroup: 'GLOBAL' }),
    quiet: Flags.boolean({ char: 'q', description: 'say nothing on the way', helpGroup: 'GLOBAL' }),
    'no-input': Flags.boolean({ description: 'never ask a question on the terminal', helpGroup: 'GLOBAL' }),
    color: Flags.string({
      description: 'when to colour',
      options: ['auto', 'always', 'never'],
      default: 'auto',
      helpGroup: 'GLOBAL',
    }),
    server: Flags.string({
      helpValue: 'URL',
      description: 'talk to the server there, not to this machine (RESOLVE_URL, RESOLVE_TOKEN)',
      helpGroup: 'GLOBAL',
    }),
    debug: Flags.boolean({ description: 'show the stack of an error', helpGroup: 'GLOBAL' }),
  }

  /** Where the command can work. */
  static place: Place = 'anywhere'

  protected readonly argv: string[]
  protected flags!: FlagsOf<T>
  protected args!: ArgsOf<T>
  /** Every word that is no flag, in order. */
  protected words: string[] = []
  /** Set before flags are parsed, from the words alone: an error in a flag must come out in the right form too. */
  protected output: Output
  /** The server that was chosen; undefined for this machine. */
  protected server: ChosenServer | undefined
  /** The instance it is about, once that is known: errors name it. */
  protected about: string | undefined
  /** For what follows an instance: a line when the server is lost, and one when it is back. */
  protected readonly connection = connectionEar((changed) => this.output.note(connectionLine(changed, Date.now())))
  #local: Promise<LocalPlatform> | undefined
  #remote: Promise<Platform> | undefined

  constructor(argv: string[]) {
    this.argv = argv
    this.output = outputFrom(argv)
  }

  /** What the command does; returns its exit code (default 0). */
  protected abstract act(): Promise<number | undefined>

  private async run(): Promise<number> {
    const { flags, baseFlags, args, strict } = this.ctor
    const parsed = await parse([...this.argv], {
      flags: { ...baseFlags, ...flags },
      args: fromWordsAlone(args),
      strict,
    })
    this.flags = parsed.flags as unknown as FlagsOf<T>
    this.args = parsed.args as unknown as ArgsOf<T>
    this.words = parsed.argv.map(String)
    this.chooseServer()
    return (await this.act()) ?? EXIT.ok
  }

  /** Runs to the end whatever happens: acts, tells an error, closes what was opened. Never rejects. */
  async runToEnd(): Promise<number> {
    let code: number
    try {
      code = await this.run()
    } catch (error) {
      code = await this.tell(error)
    }
    try {
      await (await this.#local)?.close()
      await (await this.#remote)?.close()
    } catch (error) {
      // Opening it may be what failed; that was told already.
      if (code === EXIT.ok) code = await this.tell(error)
    }
    return code
  }

  private get ctor(): typeof BaseCommand {
    return this.constructor as typeof BaseCommand
  }

  private tell(error: unknown): Promise<number> {
    const since = this.connection.lostSince()
    const isLost = since !== undefined && isConnectionError(error)
    return reportError(this.output, isLost ? lostError(error, { since, id: this.about }) : error, {
      instance: this.about,
      version: surroundings().version,
      command: withoutValues(this.ctor.id, this.argv),
      debug: this.argv.includes('--debug'),
    })
  }

  private chooseServer(): void {
    const { place } = this.ctor
    const chosen = chosenServer(this.flags.server)
    refuseElsewhere(place, chosen, this.ctor.id.replace(':', ' '))
    if (place !== 'anywhere') return
    this.server = chosen
    // What is printed to be run next shall mean the same server; a variable is still set then.
    if (chosen?.from === '--server') carryFlags(['--server', chosen.url])
  }

  /** What the command talks to, opened once: the server that was chosen, else this machine. */
  protected platform(): Promise<Platform> {
    if (this.server === undefined) return this.localPlatform()
    this.#remote ??= openServer(this.server, (sentence) => this.output.note(this.output.paint('yellow', sentence)))
    return this.#remote
  }

  /** The platform of this machine's home, opened once; for a command whose place is here. */
  protected localPlatform(): Promise<LocalPlatform> {
    this.#local ??= (async () => {
      const { homeDirectory, openLocalPlatform } = await import('../../core/index.ts')
      const { door } = surroundings()
      return openLocalPlatform({
        home: homeDirectory(process.env),
        builtins: builtinsDirectory(),
        ...(door === undefined ? {} : { door }),
      })
    })()
    return this.#local
  }

  /** Whether a person can be asked: a terminal on both sides, and nothing that forbids it (docs/cli.md). */
  protected get mayAsk(): boolean {
    if (this.flags['no-input'] || !this.output.forPerson || isCi()) return false
    return process.stdin.isTTY === true && process.stderr.isTTY === true
  }

  /** Whether a person can be shown a list to pick from: one that can be asked, on a terminal that can move its cursor. */
  protected get mayPick(): boolean {
    return this.mayAsk && process.env['TERM'] !== 'dumb'
  }

  /** Whether something can be drawn on stderr: a live view, a form of Ink. Else lines are written, one after the other. */
  protected get mayDraw(): boolean {
    return (
      this.output.forPerson &&
      !this.flags.quiet &&
      !isCi() &&
      !isScreenReader() &&
      process.stderr.isTTY === true &&
      process.env['TERM'] !== 'dumb'
    )
  }

  /** Who acts, for the journal (R25). */
  protected get actor(): Actor {
    return { actor: userName(), via: 'cli' }
  }

  /**
   * The whole id of the instance meant: a prefix, `@last`, or with nothing given the newest one (R3). On a terminal a person
   * picks where several make sense: those with one of the statuses, or all where none has it.
   */
  protected async instanceId(reference: string | undefined, fitting?: readonly Status[]): Promise<string> {
    this.about = await this.findInstance(reference, fitting)
    return this.about
  }

  private async findInstance(reference: string | undefined, fitting?: readonly Status[]): Promise<string> {
    const platform = await this.platform()
    if (reference !== undefined) return platform.find(reference)
    if (this.mayPick) {
      const { pickInstance } = await import('../input/pickers.ts')
      const picked = await pickInstance(platform, this.output, fitting)
      if (picked !== undefined) return picked
    }
    const { records } = await platform.list({ limit: 2 })
    const [only, other] = records
    if (only === undefined) throw usage(`There is no instance yet; start one with "${commandLine('run', 'hello')}".`)
    if (other !== undefined) {
      this.output.note(this.output.paint('dim', `Instance ${only.instance_id} (${only.resolver}), the newest.`))
    }
    return only.instance_id
  }
}

/** oclif takes a missing word from stdin where that is no terminal; a word nobody gave must not come from a pipe. */
function fromWordsAlone<A extends Interfaces.ArgInput>(args: A): A {
  const alone = Object.entries(args).map(([name, arg]) => [name, { ...arg, ignoreStdin: true }])
  return Object.fromEntries(alone) as A
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
