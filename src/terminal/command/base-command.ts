/**
 * The base class of every command: global flags, output streams, access to the platform, error reporting and exit code. oclif
 * only parses flags and renders help; it prints no errors and sets no exit codes (docs/cli.md, Ending).
 */
import { userInfo } from 'node:os'
import type { Interfaces } from '@oclif/core'
import { Command } from '@oclif/core/command'
import * as Flags from '@oclif/core/flags'
import type { LocalPlatform, Platform } from '../../core/index.ts'
import type { Actor } from '../../core/protocol/instance.ts'
import type { Status } from '../../core/protocol/status.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { plainCommand } from '../../core/view/command-line.ts'
import { readConfig } from '../config/config-file.ts'
import { usage } from '../output/command-error.ts'
import { connectionLine, isConnectionError, lostError, trackConnection } from '../output/connection.ts'
import { EXIT } from '../output/exit-codes.ts'
import { type Output, outputFrom } from '../output/output.ts'
import type { ServerPlace } from '../output/place-hint.ts'
import { carryFlags, commandLine } from '../output/shell.ts'
import { builtinsDirectory, isCi, isScreenReader, surroundings } from '../output/surroundings.ts'
import { withoutValues } from './bug-report.ts'
import { oclifConfig } from './oclif-config.ts'
import { reportError } from './report-error.ts'
import {
  type ChosenServer,
  chosenServer,
  openServer,
  type Place,
  refuseElsewhere,
  serverWords,
} from './server-choice.ts'

/** The static description of a command, as oclif's parser and help read it. */
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

export abstract class BaseCommand<T extends Described> extends Command {
  static override id = ''
  static override examples: Command.Example[] = []
  static override args: Interfaces.ArgInput = {}
  static override flags: Interfaces.FlagInput = {}
  static override baseFlags = {
    json: Flags.boolean({ description: 'print one JSON document on stdout', helpGroup: 'GLOBAL' }),
    quiet: Flags.boolean({ char: 'q', description: 'print no progress and no notices', helpGroup: 'GLOBAL' }),
    'no-input': Flags.boolean({ description: 'never ask a question on the terminal', helpGroup: 'GLOBAL' }),
    color: Flags.string({
      description: 'when to use colour',
      options: ['auto', 'always', 'never'],
      default: 'auto',
      helpGroup: 'GLOBAL',
    }),
    server: Flags.string({
      helpValue: 'URL',
      description: 'use this server instead of this machine (see RESOLVE_URL, RESOLVE_TOKEN)',
      helpGroup: 'GLOBAL',
    }),
    context: Flags.string({
      helpValue: 'NAME',
      description: 'use this context of "resolve context list"; local is this machine',
      helpGroup: 'GLOBAL',
    }),
    debug: Flags.boolean({ description: 'print the stack trace of an error', helpGroup: 'GLOBAL' }),
  }

  /** Where the command can work. */
  static place: Place = 'anywhere'

  protected flags!: FlagsOf<T>
  protected args!: ArgsOf<T>
  /** All positional arguments, in order. */
  protected words: string[] = []
  /** Created from the raw arguments before flags are parsed, so that an error in a flag is printed in the requested format. */
  protected output: Output
  /** The chosen server; undefined for this machine. */
  protected server: ChosenServer | undefined
  /** The id of the instance that the command works on, once known; error documents include it. */
  protected about: string | undefined
  /** Notes on stderr when the connection to the server is lost and when it is back; for commands that follow an instance. */
  protected readonly connection = trackConnection((changed) => this.output.note(connectionLine(changed, Date.now())))
  #local: Promise<LocalPlatform> | undefined
  #remote: Promise<Platform> | undefined

  constructor(argv: string[]) {
    super(argv, oclifConfig())
    this.output = outputFrom([...argv, ...colorWords()])
  }

  /** Runs the command; returns its exit code (default 0). */
  protected abstract act(): Promise<number | undefined>

  async run(): Promise<number> {
    const { flags, baseFlags, args, strict } = this.ctor
    const parsed = await this.parse({
      flags,
      baseFlags,
      args: fromWordsAlone(args),
      strict,
    })
    this.flags = parsed.flags as unknown as FlagsOf<T>
    this.args = parsed.args as unknown as ArgsOf<T>
    this.words = parsed.argv.map(String)
    this.chooseServer()
    return (await this.act()) ?? EXIT.ok
  }

  /** Runs the command, reports an error, closes the platform, and returns the exit code. Never rejects. */
  async runToEnd(): Promise<number> {
    let code: number
    try {
      code = await this.run()
    } catch (error) {
      code = await this.report(error)
    }
    try {
      await (await this.#local)?.close()
      await (await this.#remote)?.close()
    } catch (error) {
      // A failure to open the platform was reported above.
      if (code === EXIT.ok) code = await this.report(error)
    }
    return code
  }

  protected override get ctor(): typeof BaseCommand {
    return this.constructor as typeof BaseCommand
  }

  private report(error: unknown): Promise<number> {
    const since = this.connection.lostSince()
    const isLost = since !== undefined && isConnectionError(error)
    return reportError(this.output, isLost ? lostError(error, { since, id: this.about }) : error, {
      instance: this.about,
      server: this.server === undefined ? undefined : serverWords(this.server),
      place: this.serverPlace,
      version: surroundings().version,
      command: withoutValues(this.ctor.id, this.argv),
      debug: this.argv.includes('--debug'),
      flags: Object.keys({ ...this.ctor.baseFlags, ...this.ctor.flags }).map((name) => `--${name}`),
      corrected: (wrong, right) =>
        plainCommand(...this.ctor.id.split(':'), ...withoutSecrets(this.argv).map(correctWord(wrong, right))),
    })
  }

  /** The chosen server, for hints; undefined for this machine, and for an address that is refused. */
  protected get serverPlace(): ServerPlace | undefined {
    if (this.server === undefined) return undefined
    const { from, context } = this.server
    const url = serverWords({ ...this.server, context: undefined })
    return url === undefined ? undefined : { url, from, context }
  }

  private chooseServer(): void {
    const { place } = this.ctor
    // A damaged config file must not keep the commands from working that have nothing to do with servers.
    const isAlwaysHere = place === 'always here' && (this.flags.server ?? this.flags.context) === undefined
    const chosen = isAlwaysHere ? undefined : chosenServer(this.flags)
    refuseElsewhere(place, chosen, this.ctor.id.replace(':', ' '))
    if (place !== 'anywhere') return
    this.server = chosen
    // Printed follow-up commands must use the same server. RESOLVE_URL needs no flag: it is still set then.
    if (chosen?.from === '--server') carryFlags(['--server', chosen.url])
    if (chosen?.from === '--context') carryFlags(['--context', chosen.context ?? ''])
  }

  /** The platform of the chosen server, else of this machine; opened once. */
  protected platform(): Promise<Platform> {
    if (this.server === undefined) return this.localPlatform()
    this.#remote ??= openServer(this.server, (sentence) => this.output.note(this.output.paint('yellow', sentence)))
    return this.#remote
  }

  /** The platform of this machine's home, opened once; for commands that work on this machine only. */
  protected localPlatform(): Promise<LocalPlatform> {
    this.#local ??= (async () => {
      const { homeDirectory, maxRunningFrom, openLocalPlatform } = await import('../../core/index.ts')
      const { socketApi } = surroundings()
      return openLocalPlatform({
        home: homeDirectory(process.env),
        builtins: builtinsDirectory(),
        maxRunning: maxRunningFrom(process.env),
        ...(socketApi === undefined ? {} : { socketApi }),
      })
    })()
    return this.#local
  }

  /** Whether the command may ask questions: stdin and stderr are terminals, and no flag or CI forbids it (docs/cli.md). */
  protected get mayAsk(): boolean {
    return this.mayNotAsk === undefined
  }

  /** Why the command may not ask questions; undefined if it may. */
  protected get mayNotAsk(): string | undefined {
    if (this.flags['no-input']) return '--no-input was given'
    if (!this.output.forPerson) return `${this.output.json ? '--json' : '--jsonl'} was given`
    if (isCi()) return 'CI is set'
    if (process.stdin.isTTY !== true) return 'stdin is not a terminal'
    return process.stderr.isTTY === true ? undefined : 'stderr is not a terminal'
  }

  /** Whether a list can be shown to pick from: questions are allowed, and the terminal can move its cursor. */
  protected get mayPick(): boolean {
    return this.mayAsk && process.env['TERM'] !== 'dumb'
  }

  /** Whether Ink may draw on stderr (live view, form). Otherwise plain lines are written. */
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

  /** The actor that the journal records (R25). */
  protected get actor(): Actor {
    return { actor: userName(), via: 'cli' }
  }

  /**
   * Resolves a prefix or `@last` to a full instance id (R3). Without a reference: on a terminal the user picks from the instances
   * with one of the `fitting` statuses (from all, if none has one); elsewhere the newest instance is used.
   */
  protected async instanceId(reference: string | undefined, fitting?: readonly Status[]): Promise<string> {
    this.about = await this.findInstance(reference, fitting)
    return this.about
  }

  /** Says which instance a name means where several have it. */
  private async noteNewest(platform: Platform, name: string): Promise<void> {
    const [newest, other] = (await platform.list({ name, limit: 2 })).records
    if (newest === undefined || other === undefined) return
    const sentence = `Instance ${newest.instance_id} (${newest.resolver}), the newest named "${cleanLine(name)}".`
    this.output.note(this.output.paint('dim', sentence))
  }

  private async findInstance(reference: string | undefined, fitting?: readonly Status[]): Promise<string> {
    const platform = await this.platform()
    if (reference !== undefined) {
      const id = await platform.find(reference)
      if (reference !== '@last' && !id.startsWith(reference.toLowerCase())) await this.noteNewest(platform, reference)
      return id
    }
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

/**
 * A log must not repeat the value of a field, which may be a secret (R55), nor the address of a target; on a terminal the person sees
 * what was typed. The name of a file may be repeated.
 */
function withoutSecrets(argv: readonly string[]): string[] {
  if (process.stderr.isTTY) return [...argv]
  return argv.map((word, at) => {
    const before = argv[at - 1] ?? ''
    if (/^(?:-i|--input)$/.test(before)) return withoutValue('', word)
    if (/^--(?:webhook|slack)$/.test(before)) return word === '-' ? word : '<address>'
    const [, flag = '', value = ''] = /^(-i|--input=|--(?:webhook|slack)=)([\s\S]+)$/.exec(word) ?? []
    if (flag === '') return word
    return flag.startsWith('-i') || flag === '--input=' ? withoutValue(flag, value) : `${flag}<address>`
  })
}

function withoutValue(flag: string, pair: string): string {
  return flag + pair.replace(/^([^=]+)=(?!@[^@])[\s\S]*$/, '$1=<$1>')
}

/** Replaces the word, also in `--flag=value`. */
function correctWord(wrong: string, right: string): (word: string) => string {
  return (word) => (word === wrong ? right : word.startsWith(`${wrong}=`) ? right + word.slice(wrong.length) : word)
}

/** By default oclif reads a missing argument from stdin if that is no terminal; here arguments come only from the command line. */
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

/** The colour of the config file; a damaged file is reported when a server is chosen. */
function colorWords(): string[] {
  try {
    const { color } = readConfig()
    return color === undefined ? [] : [`--color=${color}`]
  } catch {
    return []
  }
}
