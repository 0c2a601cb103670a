/** `resolve check plan`: how a reality check would build and start the software of a directory, and what that follows from. Runs nothing. */
import { resolve } from 'node:path'
import * as Args from '@oclif/core/args'
import { fail } from '../../core/errors.ts'
import { detectPlan } from '../../core/reality-check/plan/plan.ts'
import { openSourceTree } from '../../core/reality-check/plan/source-tree.ts'
import { parseEnvironment } from '../../core/reality-check/wish/parse-wish.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { type ArgsOf, BaseCommand } from '../../terminal/command/base-command.ts'
import { CommandError } from '../../terminal/output/command-error.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'

export default class CheckPlanCommand extends BaseCommand<typeof CheckPlanCommand> {
  static override place = 'always here' as const
  static override summary = 'Show how software would be built and started'
  static override description =
    `Tells the commands that a reality check finds, and the files they follow from. Nothing is run.
  The exit code is 2 where no way to start it is found.`
  static override examples = ['resolve check plan', 'resolve check plan ./app --json']
  static override args = { path: Args.string({ default: '.', description: 'a directory with the sources' }) }

  declare protected args: ArgsOf<typeof CheckPlanCommand>

  protected async act(): Promise<number> {
    const tree = opened(resolve(this.args.path))
    try {
      const found = await detectPlan(tree, parseEnvironment({}))
      if ('fault' in found) throw new CommandError(fail('check_invalid', { reason: found.fault.replace(/\.$/, '') }))
      const { plan, needs } = found
      if (!this.output.forPerson) {
        await this.output.document({ schema: 'resolve.check-plan/1', exit_code: EXIT.ok, plan, needs })
        return EXIT.ok
      }
      const rows: [string, string | null][] = [
        ['software', `${plan.language}, ${plan.type}`],
        ['dependencies', plan.fetch?.command ?? null],
        ['install', plan.install],
        ['build', plan.build],
        ['start', plan.start],
        ['port', plan.port === null ? null : String(plan.port)],
        ['needs', needs.map(({ tool, range }) => (range === '*' ? tool : `${tool} ${range}`)).join(', ')],
        ['because of', plan.because.join(', ')],
      ]
      const width = Math.max(...rows.map(([name]) => name.length)) + 2
      for (const [name, value] of rows) await this.output.raw(`${name.padEnd(width)}${cleanLine(value || '–')}\n`)
      return EXIT.ok
    } finally {
      tree.close()
    }
  }
}

function opened(path: string) {
  try {
    return openSourceTree(path)
  } catch (error) {
    throw fail('check_invalid', { reason: `${path} is no directory that can be read` }, { cause: error })
  }
}
