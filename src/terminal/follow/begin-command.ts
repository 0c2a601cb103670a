/** What `run` and `retry` do alike: gather an input, create an instance with it, and follow it to its end, or print its id with --detach. */
import * as Flags from '@oclif/core/flags'
import type { InstanceRecord } from '../../core/protocol/instance.ts'
import type { Executor } from '../../core/protocol/journal.ts'
import { BaseCommand, type Described, type FlagsOf } from '../command/base-command.ts'
import { budgetFlags, executorFlag, followFlags, inputFlags, labelFlag } from '../command/flags.ts'
import { requireName } from '../command/require-name.ts'
import { beforeFollowing } from '../command/signals.ts'
import { type GatherOptions, gatherInput } from '../input/gather-input.ts'
import { type GivenInput, readInput } from '../input/input-flags.ts'
import type { ExitCode } from '../output/exit-codes.ts'
import { isCi } from '../output/surroundings.ts'
import { printDetached, refuseWithDetach } from './detached.ts'
import { requireWritable, writeRecording } from './record.ts'
import { planSession, runSession, type SessionPlan } from './session.ts'

export const beginFlags = {
  ...inputFlags,
  ...followFlags,
  detach: Flags.boolean({ char: 'd', description: 'run in the background: print the id and return' }),
  executor: executorFlag,
  name: Flags.string({ description: 'a name that people recognise; commands take it in place of the id' }),
  label: labelFlag,
  ...budgetFlags,
  record: Flags.string({
    helpValue: 'F',
    description: 'write the answers of its models to F; RESOLVE_LLM_MODEL=recorded/F gives them again',
  }),
  edit: Flags.boolean({ description: 'open the form even if no field is missing' }),
}

/** What was said on the command line, read before anything is asked or created. */
export interface Begun {
  session: SessionPlan
  given: GivenInput
}

/** A command may leave some of them out: their values are undefined then. */
export type BegunFlags = FlagsOf<Described & { flags: typeof beginFlags }>

export abstract class BeginCommand<T extends Described> extends BaseCommand<T> {
  declare protected flags: FlagsOf<T> & BegunFlags

  /** Creates the instance; undefined where none was to be created. */
  protected abstract begin(begun: Begun): Promise<InstanceRecord | undefined>

  /** What the document of --json has beside the fields of every instance. */
  protected async more(_id: string): Promise<Record<string, unknown>> {
    return {}
  }

  /** The exit code where the command has one of its own for what the instance came to. */
  protected async codeOf(_id: string, code: ExitCode): Promise<ExitCode> {
    return code
  }

  protected async act(): Promise<number> {
    refuseWithDetach(this.flags)
    requireName(this.flags.name)
    const { record: file } = this.flags
    if (file !== undefined) requireWritable(file)
    const session = await planSession(this.flags, this.mayNotAsk)
    const record = await beforeFollowing(async () => this.begin({ session, given: await readInput(this.flags) }))
    if (record === undefined) return 0
    const { instance_id: id } = record
    this.about = id
    const platform = await this.platform()
    if (this.flags.detach) {
      await printDetached(this.output, platform, { id, isRemote: this.server !== undefined })
      return 0
    }
    const code = await runSession({
      ...session,
      ...{ platform, id, output: this.output, actor: this.actor, live: this.mayDraw, watching: false },
      stopOnSignal: isCi(),
      more: () => this.more(id),
      codeOf: (code) => this.codeOf(id, code),
    })
    if (file !== undefined) await writeRecording(platform, id, file, this.output)
    return code
  }

  /** The checked input. The time of a setup that comes before the form counts for --timeout. */
  protected async gather(
    resolver: string,
    given: GivenInput,
    { session, ...options }: { session: SessionPlan } & Pick<GatherOptions, 'edit' | 'checksNow' | 'again' | 'changed'>,
  ): Promise<Record<string, unknown>> {
    return await gatherInput(await this.platform(), resolver, given, {
      ...options,
      mayAsk: this.mayAsk,
      executor: this.executor,
      output: this.output,
      timeoutMs: session.timeoutMs,
      onPrepared: (durationMs) => {
        if (session.timeoutMs !== undefined) session.timeoutMs = Math.max(0, session.timeoutMs - durationMs)
      },
    })
  }

  /** What else was said on the command line, for the command that repeats it with other fields. */
  protected get said(): string[] {
    const { label = [], detach, verbose, edit: _, executor, ...flags } = this.flags
    const texts = {
      name: flags.name,
      answers: flags.answers,
      'on-input': flags['on-input'],
      timeout: flags.timeout,
      'budget-usd': flags['budget-usd'],
      'budget-tokens': flags['budget-tokens'],
      record: flags.record,
    }
    return [
      ...label.flatMap((one) => ['--label', one]),
      ...Object.entries(texts).flatMap(([flag, value]) => (value === undefined ? [] : [`--${flag}`, value])),
      ...(executor === 'auto' ? [] : ['--executor', executor]),
      ...(detach ? ['--detach'] : []),
      ...(verbose ? ['--verbose'] : []),
    ]
  }

  protected async printDryRun(resolver: string, input: Record<string, unknown>): Promise<void> {
    if (this.output.forPerson) await this.output.result(`The input is valid for ${resolver}. No instance was created.`)
    else {
      const document = { schema: 'resolve.check/1', resolver, valid: true, input }
      if (this.output.json) await this.output.document(document)
      else await this.output.raw(`${JSON.stringify(document)}\n`)
    }
  }

  protected get executor(): Executor | 'auto' {
    return this.flags.executor as Executor | 'auto'
  }

  protected get host(): 'background' | 'here' {
    return this.flags.detach ? 'background' : 'here'
  }
}
