/** `resolve resolver update`: fetches the sources of resolvers again. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { CatalogEntry } from '../../core/index.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { tryOut } from '../../terminal/input/try-out.ts'
import { CommandError } from '../../terminal/output/command-error.ts'
import { resolverDocument } from '../../terminal/pages/resolver-document.ts'

export default class ResolverUpdate extends BaseCommand<typeof ResolverUpdate> {
  static override summary = 'Fetch one resolver again, or all of them'
  static override description = `Existing instances keep the version they were created with.
  What has changed is tried out as by "resolver add": a version that cannot start is not taken.`
  static override examples = ['resolve resolver update plan', 'resolve resolver update']
  static override place = 'here' as const
  static override args = { name: Args.string({ description: 'the name of a resolver; without one, all' }) }

  static override flags = {
    'no-check': Flags.boolean({ description: 'do not run the setup and start the program of a new version' }),
  }

  declare protected flags: FlagsOf<typeof ResolverUpdate>
  declare protected args: ArgsOf<typeof ResolverUpdate>

  protected async act(): Promise<number> {
    const catalog = await (await this.localPlatform()).catalog()
    const check = this.flags['no-check'] ? undefined : (entry: CatalogEntry) => this.check(entry)
    const outcomes = await catalog.update(this.args.name, { check })
    const problems = outcomes.flatMap(({ entry, problem }) =>
      problem === null ? [] : [{ id: entry.name, message: problem.message, problem }],
    )
    const [first] = problems
    if (first !== undefined && this.output.json)
      throw new CommandError(first.problem, { fields: problems.map(({ id, message }) => ({ id, message })) })
    if (this.output.json) {
      const resolvers = outcomes.map(({ entry, changed }) => ({ ...resolverDocument(entry), changed }))
      await this.output.document({ schema: 'resolve.resolvers/1', resolvers })
      return 0
    }
    for (const { entry, changed, problem } of outcomes) {
      if (problem === null)
        await this.output.result(`${entry.name} ${entry.version} ${changed ? 'updated' : 'is up to date'}`)
      else this.output.say(this.output.paint('red', `${entry.name}: ${problem.message}`))
    }
    return first?.problem.exitCode ?? 0
  }

  /** Throws why a new version cannot be used. */
  private async check(entry: CatalogEntry): Promise<void> {
    const wish = { output: this.output, prepare: true, start: true }
    const { setupFailure } = await tryOut(await this.localPlatform(), entry, wish)
    if (setupFailure !== undefined) throw setupFailure
  }
}
