/** `resolve inbox`: every question that waits for somebody, whichever instance asks it. */
import * as Flags from '@oclif/core/flags'
import { BaseCommand, type FlagsOf } from '../terminal/command/base-command.ts'
import { lookUntilSignal } from '../terminal/command/until-signal.ts'
import { usage } from '../terminal/output/command-error.ts'
import { commandLine } from '../terminal/output/shell.ts'
import { keyOf, type OpenQuestion, openQuestions, questionLines, type ReadBefore } from '../terminal/pages/inbox.ts'

export default class Inbox extends BaseCommand<typeof Inbox> {
  static override summary = 'List the open questions of every instance, oldest first'
  static override description =
    'Each with the command that answers it. --watch goes on and prints new ones as they come; Ctrl-C ends it.'
  static override examples = ['resolve inbox', 'resolve inbox --watch', 'resolve inbox --json']
  static override flags = {
    watch: Flags.boolean({ description: 'go on and print new questions as they come' }),
    jsonl: Flags.boolean({ description: 'print each question as one line of JSON', exclusive: ['json'] }),
  }

  declare protected flags: FlagsOf<typeof Inbox>

  protected async act(): Promise<number> {
    if (this.flags.watch && this.output.json) throw usage('--watch has no single document; use --jsonl.')
    const platform = await this.platform()
    if (this.flags.watch) {
      const told = new Set<string>()
      const before: ReadBefore = new Map()
      const look = async () => {
        const questions = await openQuestions(platform, before)
        if (told.size === 0 && questions.length === 0) this.noteOnce()
        for (const question of questions.filter((one) => !told.has(keyOf(one)))) {
          told.add(keyOf(question))
          await this.print(question)
        }
      }
      const again = commandLine('inbox', '--watch', ...(this.output.jsonl ? ['--jsonl'] : []))
      return await lookUntilSignal(look, { onConnection: this.connection.hear, again })
    }
    const questions = await openQuestions(platform)
    if (this.output.json) await this.output.document({ schema: 'resolve.inbox/1', questions })
    else for (const question of questions) await this.print(question)
    if (questions.length === 0 && this.output.forPerson) this.output.note('No question is open.')
    return 0
  }

  private async print(question: OpenQuestion): Promise<void> {
    if (this.output.jsonl) return await this.output.raw(`${JSON.stringify(question)}\n`)
    await this.output.raw(`${questionLines(this.output, question, Date.now()).join('\n')}\n`)
  }

  #noted = false

  private noteOnce(): void {
    if (!this.#noted && this.output.forPerson) this.output.note('No question is open; new ones are printed here.')
    this.#noted = true
  }
}
