/** `resolve git prune`: removes copies of upstream repositories that were not used for a while. */
import * as Flags from '@oclif/core/flags'
import { CACHE_AGE_MS } from '../../core/limits.ts'
import { bytesText } from '../../core/view/bytes-text.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { parseDuration } from '../../terminal/command/duration.ts'

export default class GitPrune extends BaseCommand<typeof GitPrune> {
  static override summary = 'Remove cached repositories and bundles that were not used for a while'
  static override description =
    'Copies of upstream repositories, and of bundles for LLM sessions. The next instance that needs one of them fetches it again. Workspaces stay as they are, and so do bundles of instances that have not ended.'
  static override examples = ['resolve git prune --dry-run', 'resolve git prune --older-than 7d']
  static override place = 'here' as const
  static override flags = {
    'older-than': Flags.string({
      helpValue: 'DUR',
      default: `${CACHE_AGE_MS / 86_400_000}d`,
      description: 'only those that no instance used for this long: 12h, 7d',
    }),
    'dry-run': Flags.boolean({ description: 'show what would be removed, and remove nothing' }),
  }

  declare protected flags: FlagsOf<typeof GitPrune>

  protected async act(): Promise<undefined> {
    const { homeDirectory, pruneRepoCaches } = await import('../../core/index.ts')
    const olderThanMs = parseDuration(this.flags['older-than'])
    const outcome = await pruneRepoCaches(homeDirectory(process.env), { olderThanMs, dryRun: this.flags['dry-run'] })
    const { removed, dry_run: isDry } = outcome
    const bytes = removed.reduce((sum, cache) => sum + cache.bytes, 0)
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.pruned-caches/1', ...outcome, bytes })
      return
    }
    if (isDry) {
      for (const { kind, url, commit, bytes: size } of removed) {
        const address = cleanLine(url ?? 'unknown address')
        const about = kind === 'bundle' ? `bundle ${address} at ${(commit ?? '').slice(0, 12)}` : address
        await this.output.result(`${about}  ${bytesText(size)}`)
      }
    }
    const bundles = removed.filter(({ kind }) => kind === 'bundle').length
    const count = [
      counted(removed.length - bundles, 'repository', 'repositories'),
      counted(bundles, 'bundle', 'bundles'),
    ]
      .filter(Boolean)
      .join(' and ')
    const verb = isDry ? 'Would remove' : 'Removed'
    this.output.note(removed.length === 0 ? 'Nothing to remove.' : `${verb} ${count} (${bytesText(bytes)}).`)
  }
}

/** Empty for none. */
function counted(count: number, one: string, many: string): string {
  return count === 0 ? '' : `${count} ${count === 1 ? one : many}`
}
