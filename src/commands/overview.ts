/** `resolve` without a command: open questions, running instances and the last ended ones; in an empty home an introduction. */
import { BaseCommand, type FlagsOf } from '../terminal/command/base-command.ts'
import { openQuestions } from '../terminal/pages/inbox.ts'
import { type Overview, overviewLines } from '../terminal/pages/overview.ts'

const UP = ['created', 'starting', 'running', 'awaiting_input', 'paused'] as const
const OVER = ['completed', 'failed', 'cancelled'] as const
const SHOWN = 5

export default class ShowOverview extends BaseCommand<typeof ShowOverview> {
  static override summary = 'Show open questions, running instances and the last ended ones'
  static override examples = ['resolve', 'resolve --json']

  declare protected flags: FlagsOf<typeof ShowOverview>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const [questions, up, over] = [
      await openQuestions(platform),
      (await platform.list({ status: UP })).records,
      (await platform.list({ status: OVER })).records,
    ]
    const finished = over.toSorted((a, b) => (endOf(a) < endOf(b) ? 1 : -1)).slice(0, SHOWN)
    const overview: Overview = { questions, running: up, finished }
    if (this.output.json) await this.output.document({ schema: 'resolve.overview/1', ...overview })
    else await this.output.raw(`${overviewLines(this.output, overview, Date.now()).join('\n')}\n`)
    return 0
  }
}

function endOf(record: { ended_at: string | null; updated_at: string }): string {
  return record.ended_at ?? record.updated_at
}
