/** `resolve instance promote`: brings a branch of an instance upstream as a pull request. */
import { readFileSync } from 'node:fs'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { PromotionAsk, PromotionOutcome } from '../../../core/index.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { requiredIdArg } from '../../../terminal/command/flags.ts'
import { promptYes } from '../../../terminal/form/prompt-form.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { EXIT } from '../../../terminal/output/exit-codes.ts'
import { promotionLines, promotionNotes } from '../../../terminal/pages/promotion-lines.ts'

export default class InstancePromote extends BaseCommand<typeof InstancePromote> {
  static override summary = 'Open a pull request upstream for the work of an instance'
  static override description = `Takes what the instance pushed to its git server; it may have ended.
  At a terminal it shows what it found and asks. Run again, it updates the same pull request.
  The token is that of RESOLVE_GIT_HOST_TOKEN or RESOLVE_GIT_TOKEN_COMMAND, or of your git.`
  static override examples = [
    'resolve instance promote @last --title "Fix the login"',
    'resolve instance promote 3fa2 app --branch fix/login --target dev --draft',
    'resolve instance promote 3fa2 --dry-run',
    'resolve instance promote 3fa2 --rebase',
  ]
  static override args = {
    ...requiredIdArg,
    repo: Args.string({ description: 'a repository of its workspace; not needed where it has one' }),
  }
  static override flags = {
    title: Flags.string({
      description: 'default: of its pull request at the git server, else the subject of the last commit',
    }),
    body: Flags.string({
      description: 'the text; default: of its pull request at the git server; @FILE reads it from a file',
    }),
    branch: Flags.string({ description: 'default: the working branch' }),
    target: Flags.string({ description: 'default: the default branch upstream' }),
    draft: Flags.boolean({ description: 'mark it as a draft' }),
    allow: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      options: ['workflows'],
      description: 'workflows: files that run with the rights of the forge may change',
    }),
    commit: Flags.string({ description: 'the commit that you looked at; refused if the branch has another one now' }),
    rebase: Flags.boolean({ description: 'make the commits again on top of the target, where it has moved on' }),
    'dry-run': Flags.boolean({ description: 'show what would be promoted, and push nothing' }),
    yes: Flags.boolean({ char: 'y', description: 'do not ask' }),
  }

  declare protected flags: FlagsOf<typeof InstancePromote>
  declare protected args: ArgsOf<typeof InstancePromote>

  protected async act(): Promise<number> {
    const { git } = await this.platform()
    const id = await this.instanceId(this.args.id)
    const repo = this.args.repo ?? (await this.onlyRepo(id))
    const atTerminal = this.mayAsk
    const promote = (ask: PromotionAsk) => git.promote(id, repo, ask, this.actor, { atTerminal })
    const ask = this.asked()
    if (this.flags['dry-run']) return await this.print(id, await promote({ ...ask, dry_run: true }))
    if (this.flags.yes || !atTerminal) return await this.print(id, await promote(await this.bound(ask, promote)))
    const found = await promote({ ...ask, dry_run: true })
    for (const line of promotionLines(found)) this.output.say(line)
    // Secrets are refused whatever is answered; so the refusal is told without a question.
    if (found.secrets.length === 0 && !(await promptYes('Open the pull request?'))) {
      this.output.say('Nothing was promoted.')
      return EXIT.ok
    }
    // The person saw the files of this commit.
    return await this.print(id, await promote({ ...ask, allow: ['workflows'], commit: found.commit }))
  }

  /** What is allowed is allowed for one commit: by default for the one that the branch has when the command begins. */
  private async bound(
    ask: PromotionAsk,
    promote: (ask: PromotionAsk) => Promise<PromotionOutcome>,
  ): Promise<PromotionAsk> {
    if (ask.allow === undefined || ask.commit !== undefined) return ask
    const { commit } = await promote({ ...ask, dry_run: true })
    return { ...ask, commit }
  }

  private asked(): PromotionAsk {
    const { title, body, branch, target, draft, allow, commit, rebase } = this.flags
    return {
      ...(title === undefined ? {} : { pr_title: title }),
      ...(body === undefined ? {} : { pr_body: textOf(body) }),
      ...(branch === undefined ? {} : { branch }),
      ...(target === undefined ? {} : { target_branch: target }),
      ...(draft ? { draft } : {}),
      ...(allow === undefined ? {} : { allow: ['workflows'] }),
      ...(commit === undefined ? {} : { commit }),
      ...(rebase ? { rebase } : {}),
    }
  }

  private async onlyRepo(id: string): Promise<string> {
    const { creation } = await (await this.platform()).story(id)
    const names = (creation.workspace?.repos ?? []).map(({ name }) => name)
    const [only] = names
    if (only === undefined) throw usage('The instance has no repository.')
    if (names.length > 1) throw usage(`Name one of its repositories: ${names.join(', ')}.`)
    return only
  }

  private async print(id: string, outcome: PromotionOutcome): Promise<number> {
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.promotion/1', instance_id: id, ...outcome })
      return EXIT.ok
    }
    if (outcome.pr_url === null) {
      for (const line of promotionLines(outcome)) await this.output.result(line)
      this.output.note('Nothing was pushed.')
      return EXIT.ok
    }
    await this.output.result(outcome.pr_url)
    this.output.note(outcome.created ? 'Pull request opened.' : 'Pull request updated.')
    // Without a question, the person did not see the look.
    for (const line of promotionNotes(outcome)) this.output.note(line)
    return EXIT.ok
  }
}

function textOf(body: string): string {
  if (!body.startsWith('@')) return body
  try {
    return readFileSync(body.slice(1), 'utf8')
  } catch {
    throw usage(`Cannot read ${body.slice(1)}.`)
  }
}
