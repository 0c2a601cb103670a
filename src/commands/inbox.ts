/** `resolve inbox`: lists the open input requests of all instances. */
import * as Flags from '@oclif/core/flags'
import { BaseCommand, type FlagsOf } from '../terminal/command/base-command.ts'
import { pollUntilSignal } from '../terminal/command/poll-until-signal.ts'
import { usage } from '../terminal/output/command-error.ts'
import { commandLine } from '../terminal/output/shell.ts'
import { keyOf, type OpenQuestion, openQuestions, questionLines, type ReadBefore } from '../terminal/pages/inbox.ts'

export default class Inbox extends BaseCommand<typeof Inbox> {
  static override summary = 'List the open questions of every instance, oldest first'
  static override description =
    'Prints each question with the command that answers it. --watch keeps printing new ones until Ctrl-C.'
  static override examples = ['resolve inbox', 'resolve inbox --watch', 'resolve inbox --json']
  static override flags = {
    watch: Flags.boolean({ description: 'keep running and print new questions as they open' }),
    jsonl: Flags.boolean({ description: 'print each question as one line of JSON', exclusive: ['json'] }),
  }

  declare protected flags: FlagsOf<typeof Inbox>

  protected async act(): Promise<number> {
    if (this.flags.watch && this.output.json) throw usage('--watch cannot print a single document; use --jsonl.')
    const platform = await this.platform()
    if (this.flags.watch) {
      const printed = new Set<string>()
      const before: ReadBefore = new Map()
      const poll = async () => {
        const questions = await openQuestions(platform, before)
        if (printed.size === 0 && questions.length === 0) this.noteOnce()
        for (const question of questions.filter((one) => !printed.has(keyOf(one)))) {
          printed.add(keyOf(question))
          await this.print(question, questions)
        }
      }
      const again = commandLine('inbox', '--watch', ...(this.output.jsonl ? ['--jsonl'] : []))
      return await pollUntilSignal(poll, { onConnection: this.connection.update, again })
    }
    const questions = await openQuestions(platform)
    if (this.output.json) await this.output.document({ schema: 'resolve.inbox/1', questions })
    else for (const question of questions) await this.print(question, questions)
    if (questions.length === 0 && this.output.forPerson) this.output.note('No question is open.')
    return 0
  }

  private async print(question: OpenQuestion, all: readonly OpenQuestion[]): Promise<void> {
    if (this.output.jsonl) return await this.output.raw(`${JSON.stringify(question)}\n`)
    await this.output.raw(`${questionLines(this.output, question, all, Date.now()).join('\n')}\n`)
  }

  #noted = false

  private noteOnce(): void {
    if (!this.#noted && this.output.forPerson) this.output.note('No question is open. New ones are printed here.')
    this.#noted = true
  }
}
