/** `resolve instance diff`: shows what an instance changed in a repository. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { fail } from '../../../core/errors.ts'
import type { Platform, RepoDiff } from '../../../core/index.ts'
import { DIFF_BASES } from '../../../core/protocol/changes.ts'
import { cleanLine, cleanText } from '../../../core/view/clean.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { chooseRepo } from '../../../terminal/input/choose-repo.ts'
import { CommandError, usage } from '../../../terminal/output/command-error.ts'
import { commandLine } from '../../../terminal/output/shell.ts'
import { type LineStyle, statLines, styledPatch } from '../../../terminal/pages/diff-lines.ts'

export default class InstanceDiff extends BaseCommand<typeof InstanceDiff> {
  static override summary = 'Show what an instance changed in a repository'
  static override description =
    `While the instance runs, its workspace is read as it is now; afterwards, what was kept at its end.
    Also changes that were never committed are shown.`
  static override examples = [
    'resolve instance diff @last',
    'resolve instance diff 3fa2 app --patch | git apply',
    'resolve instance diff 3fa2 --base pushed --name-only',
  ]
  static override args = {
    id: Args.string({ description: 'an id, a prefix of one, @last, or a name' }),
    repo: Args.string({ description: 'the repository; needed where there is more than one' }),
  }
  static override flags = {
    base: Flags.string({
      options: [...DIFF_BASES],
      default: 'start',
      description: 'compare with the commit it started at, the upstream branch, or what was pushed',
    }),
    snapshot: Flags.string({
      helpValue: 'N|last|pushed',
      description: 'show a snapshot, or the pushed branch, instead of the latest work',
    }),
    path: Flags.string({ helpValue: 'PATH', description: 'only this file' }),
    patch: Flags.boolean({ description: 'print the patch', exclusive: ['stat', 'name-only'] }),
    stat: Flags.boolean({ description: 'print the files with the number of changed lines (default)' }),
    'name-only': Flags.boolean({ description: 'print only the names of the files', exclusive: ['stat'] }),
  }

  declare protected flags: FlagsOf<typeof InstanceDiff>
  declare protected args: ArgsOf<typeof InstanceDiff>

  protected async act(): Promise<undefined> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    const repo = await this.repo(platform, id)
    const { base, patch, path } = this.flags
    const snapshot = snapshotOf(this.flags.snapshot)
    const diff = await platform.git.diff(id, repo, {
      base: DIFF_BASES.find((known) => known === base) ?? 'start',
      ...(snapshot === undefined ? {} : { snapshot }),
      ...(path === undefined ? {} : { path }),
      ...(patch ? { patch } : {}),
    })
    if (this.output.json) await this.output.document({ schema: 'resolve.diff/1', instance_id: id, diff })
    else await this.print(diff)
  }

  /** A file in the place of the repository gets the right form as its hint. */
  private async repo(platform: Platform, id: string): Promise<string> {
    const { repo } = this.args
    const names = repo === undefined ? [] : (await platform.git.repos(id)).map(({ name }) => name)
    if (repo === undefined || names.includes(repo)) return await chooseRepo(platform, id, repo)
    const error = fail('repo_unknown', { repo: cleanLine(repo).slice(0, 100), names })
    const hint = `For one file: ${commandLine('instance', 'diff', id, '--path', repo)}`
    throw new CommandError(error, { hint })
  }

  /** As it is where a program reads it, for `git apply`. */
  private async printPatch(patch: string): Promise<void> {
    if (patch === '') return
    // FORCE_COLOR does not count: the patch would not apply.
    if (!process.stdout.isTTY && this.flags.color !== 'always') return await this.output.raw(patch)
    const paint = (style: LineStyle, line: string) => this.output.paint(style, line, process.stdout)
    const lines = styledPatch(patch).map(({ line, style }) =>
      style === undefined ? cleanText(line) : paint(style, line),
    )
    await this.output.raw(`${lines.join('\n')}\n`)
  }

  private async print(diff: RepoDiff): Promise<void> {
    if (diff.patch !== null) {
      await this.printPatch(diff.patch)
      if (diff.patch_cut)
        this.output.note(this.output.paint('yellow', 'The patch is cut: show single files with --path.'))
    } else {
      for (const line of this.flags['name-only'] ? diff.files.map(({ path }) => cleanLine(path)) : statLines(diff)) {
        await this.output.result(line)
      }
    }
    if (diff.files_total === 0) this.output.note('Nothing changed.')
    else if (diff.files.length < diff.files_total) {
      this.output.note(`${diff.files_total - diff.files.length} more files are not listed.`)
    }
    for (const { path, reason } of diff.skipped) this.output.note(`Left out: ${cleanLine(path)} (${WORDS[reason]}).`)
    const unnamed = (diff.skipped_total ?? 0) - diff.skipped.length
    if (unnamed > 0) {
      const counted = [unnamed, diff.skipped_total ?? 0].map((number) => number.toLocaleString('en'))
      this.output.note(`Left out: ${counted[0]} more, ${counted[1]} in all.`)
    }
  }
}

const WORDS = {
  too_large: 'too large',
  repository: 'a repository of its own',
  unreadable: 'it cannot be read',
  too_many: 'too many files',
}

function snapshotOf(text: string | undefined): number | 'last' | 'pushed' | undefined {
  if (text === undefined || text === 'last' || text === 'pushed') return text
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text)
  throw usage('--snapshot takes the number of a snapshot, "last" or "pushed".')
}
