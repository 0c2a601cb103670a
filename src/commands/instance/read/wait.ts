/** `resolve instance wait`: blocks until instances have ended or settled, and prints one line for each. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { Story } from '../../../core/index.ts'
import { statusText } from '../../../core/view/status-words.ts'
import { awaitStatus, untilSettled, untilTerminal } from '../../../terminal/command/await-status.ts'
import { BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { parseDuration } from '../../../terminal/command/duration.ts'
import { annotate } from '../../../terminal/follow/finish.ts'
import { appendSummary } from '../../../terminal/follow/github-summary.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { instanceDocument } from '../../../terminal/output/documents.ts'
import { EXIT, type ExitCode, exitCodeOf, worstExitCode } from '../../../terminal/output/exit-codes.ts'
import { workflowCommand } from '../../../terminal/output/github-commands.ts'
import { isGithub } from '../../../terminal/output/surroundings.ts'

export default class InstanceWait extends BaseCommand<typeof InstanceWait> {
  static override summary = 'Wait until instances have ended'
  static override description = `The exit code is 0 if all instances completed, otherwise that of the worst outcome.
Those are, from the worst: failed 1, cancelled 3, paused 9, a question open 8.
--until settled also stops waiting for an instance that is paused or has an open question.`
  static override examples = [
    'resolve instance wait 3fa2 91bc --timeout 10m',
    'resolve instance wait @last --until settled --json',
  ]
  static override strict = false
  static override args = { id: Args.string({ description: 'ids, prefixes of ids, or @last', required: true }) }
  static override flags = {
    timeout: Flags.string({
      helpValue: 'DUR',
      description: 'stop waiting after 30s, 5m, 1h30m or 90 (seconds); exit code 124',
    }),
    any: Flags.boolean({ description: 'return when the first instance is done' }),
    until: Flags.string({
      options: ['terminal', 'settled'],
      default: 'terminal',
      description: 'terminal: it has ended; settled: it has ended, is paused or has an open question',
    }),
  }

  declare protected flags: FlagsOf<typeof InstanceWait>

  protected async act(): Promise<number> {
    const timeoutMs = this.flags.timeout === undefined ? undefined : parseDuration(this.flags.timeout)
    const platform = await this.platform()
    const ids = [...new Set(await Promise.all(this.words.map((word) => platform.find(word))))]
    if (ids.length === 0) throw usage('Name at least one instance to wait for.')
    if (ids.length === 1) this.about = ids[0]
    const until = this.flags.until === 'settled' ? untilSettled : untilTerminal
    await Promise.all(ids.map((id) => platform.ensureHost(id)))

    const enough = new AbortController()
    let timedOut = false
    const giveUp = () => {
      timedOut = true
      enough.abort()
    }
    const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs)
    const stories = await Promise.all(
      ids.map(async (id) => {
        const story = await awaitStatus(platform, id, until, enough.signal, this.connection.update)
        if (until(story)) {
          if (this.output.forPerson) await this.output.result(`${id}  ${statusText(story.status)}`)
          if (this.flags.any) enough.abort()
        }
        return story
      }),
    )
    clearTimeout(timer)
    const reached = stories.filter(until)
    if (isGithub()) this.tellGithub(reached)
    const code = timedOut ? EXIT.timeout : verdict(this.flags.any ? reached.slice(0, 1) : stories)
    await this.printDocumentOrTimeout(stories, timedOut, code)
    return code
  }

  /** The outcome of an instance that an earlier step left waiting belongs to the summary of this job, too. */
  private tellGithub(reached: readonly Story[]): void {
    for (const story of reached) {
      annotate(this.output, { story, reason: 'done', exitCode: exitCodeOf(story.status) })
      const trouble = appendSummary(story)
      if (trouble !== undefined) this.output.say(trouble)
    }
  }

  private async printDocumentOrTimeout(stories: Story[], timedOut: boolean, code: ExitCode): Promise<void> {
    if (this.output.json) {
      const instances = stories.map((story) => instanceDocument(story, exitCodeOf(story.status)))
      await this.output.document({ schema: 'resolve.wait/1', exit_code: code, timed_out: timedOut, instances })
    } else if (timedOut && !isGithub()) this.output.say(TIMED_OUT)
    if (timedOut && isGithub()) this.output.command(workflowCommand('error', TIMED_OUT))
  }
}

const TIMED_OUT = 'The timeout has passed; the instances continue.'

function verdict(stories: readonly Story[]): ExitCode {
  return worstExitCode(stories.map((story) => exitCodeOf(story.status)))
}
