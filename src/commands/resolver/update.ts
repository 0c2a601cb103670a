/** `resolve resolver update`: fetches the sources of resolvers again. */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { CommandError } from '../../terminal/output/command-error.ts'
import { resolverDocument } from '../../terminal/pages/resolver-document.ts'

export default class ResolverUpdate extends BaseCommand<typeof ResolverUpdate> {
  static override summary = 'Fetch one resolver again, or all of them'
  static override description = 'Existing instances keep the version they were created with.'
  static override examples = ['resolve resolver update plan', 'resolve resolver update']
  static override place = 'here' as const
  static override args = { name: Args.string({ description: 'the name of a resolver; without one, all' }) }

  declare protected flags: FlagsOf<typeof ResolverUpdate>
  declare protected args: ArgsOf<typeof ResolverUpdate>

  protected async act(): Promise<number> {
    const catalog = await (await this.localPlatform()).catalog()
    const outcomes = await catalog.update(this.args.name)
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
}
