/** `resolve instance prune`: deletes instances that have ended. */
import * as Flags from '@oclif/core/flags'
import type { PruneOutcome } from '../../../core/index.ts'
import { PRUNE_AGE_MS } from '../../../core/limits.ts'
import { isTerminal, STATUSES, type Status } from '../../../core/protocol/status.ts'
import { bytesText } from '../../../core/view/bytes-text.ts'
import { cleanLine } from '../../../core/view/clean.ts'
import { statusText } from '../../../core/view/status-words.ts'
import { BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { parseDuration } from '../../../terminal/command/duration.ts'
import { toStatuses } from '../../../terminal/command/flags.ts'
import { promptYes } from '../../../terminal/form/prompt-form.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { EXIT } from '../../../terminal/output/exit-codes.ts'

const FINAL = STATUSES.filter(isTerminal)

export default class InstancePrune extends BaseCommand<typeof InstancePrune> {
  static override summary = 'Delete instances that ended some time ago'
  static override description =
    `Deletes their journals and data files too; "resolve instance export" saves a copy first.
  Never removes an instance that is running, waiting or paused. Without a terminal, -y is required.`
  static override examples = [
    'resolve instance prune --dry-run',
    'resolve instance prune --older-than 7d --status completed,cancelled -y',
  ]
  static override flags = {
    'older-than': Flags.string({
      helpValue: 'DUR',
      default: `${PRUNE_AGE_MS / 86_400_000}d`,
      description: 'only instances that ended at least this long ago: 12h, 7d',
    }),
    status: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      description: 'only these final statuses: separated by commas, or the flag repeated',
    }),
    'keep-unpromoted': Flags.boolean({ description: 'keep instances with work that was not promoted' }),
    'dry-run': Flags.boolean({ description: 'show what would be removed, and remove nothing' }),
    yes: Flags.boolean({ char: 'y', description: 'do not ask' }),
  }

  declare protected flags: FlagsOf<typeof InstancePrune>

  protected async act(): Promise<number> {
    const status = this.finalStatuses()
    const wanted = {
      older_than_ms: parseDuration(this.flags['older-than']),
      ...(status === undefined ? {} : { status }),
      ...(this.flags['keep-unpromoted'] ? { keep_unpromoted: true } : {}),
    }
    const isDry = this.flags['dry-run']
    if (!isDry && !this.flags.yes && !this.mayAsk) {
      throw usage('Cannot ask for confirmation here: add -y to remove, or --dry-run to preview.')
    }
    const platform = await this.platform()
    if (!isDry && !this.flags.yes) {
      const planned = await platform.prune({ ...wanted, dry_run: true })
      if (planned.removed.length === 0 && planned.leftovers.count === 0) return await this.printOutcome(planned)
      for (const line of listed(planned)) this.output.say(line)
      if (!(await promptYes(`Remove ${total(planned)} permanently?`))) {
        this.output.say('Nothing was removed.')
        return EXIT.ok
      }
    }
    return await this.printOutcome(await platform.prune({ ...wanted, dry_run: isDry }))
  }

  private finalStatuses(): Status[] | undefined {
    const statuses = toStatuses(this.flags.status)
    const [living] = (statuses ?? []).filter((status) => !FINAL.includes(status))
    if (living === undefined) return statuses
    throw usage(`An instance that is ${living} is never removed. The final statuses are: ${FINAL.join(', ')}.`)
  }

  private async printOutcome(outcome: PruneOutcome): Promise<number> {
    if (this.output.json) {
      const bytes = bytesOf(outcome)
      const { dry_run, removed, leftovers } = outcome
      await this.output.document({
        ...{ schema: 'resolve.pruned/1', dry_run, count: removed.length, bytes, removed, leftovers },
      })
      return EXIT.ok
    }
    if (outcome.dry_run) for (const line of listed(outcome)) await this.output.result(line)
    const isNothing = outcome.removed.length === 0 && outcome.leftovers.count === 0
    const verb = outcome.dry_run ? 'Would remove' : 'Removed'
    this.output.note(
      isNothing ? `No instance ended ${this.flags['older-than']} ago or earlier.` : `${verb} ${total(outcome)}.`,
    )
    return EXIT.ok
  }
}

function listed({ removed }: PruneOutcome): string[] {
  return removed.map(({ instance_id, status, resolver, name, ended_at, bytes, unpromoted = [] }) => {
    const who = cleanLine(name === null ? resolver : `${resolver} (${name})`)
    const work = unpromoted.length === 0 ? '' : `  (not promoted: ${cleanLine(unpromoted.join(', '))})`
    return `${instance_id}  ${statusText(status)}  ${ended_at.slice(0, 10)}  ${bytesText(bytes)}  ${who}${work}`
  })
}

function bytesOf({ removed, leftovers }: PruneOutcome): number {
  return removed.reduce((sum, { bytes }) => sum + bytes, leftovers.bytes)
}

/** `3 instances and 1 leftover, 2.1 MiB`. */
function total(outcome: PruneOutcome): string {
  const { removed, leftovers } = outcome
  const parts = [removed.length === 1 ? '1 instance' : `${removed.length} instances`]
  if (leftovers.count > 0) parts.push(leftovers.count === 1 ? '1 leftover' : `${leftovers.count} leftovers`)
  return `${parts.join(' and ')}, ${bytesText(bytesOf(outcome))}`
}
