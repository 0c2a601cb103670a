/** `resolve instance transcript`: lists the LLM sessions of an instance, or prints what one did. */
import * as Args from '@oclif/core/args'
import type { Platform } from '../../../core/index.ts'
import type { SessionSummary, TranscriptEvent } from '../../../core/protocol/session/session.ts'
import { cleanLine, indentedText } from '../../../core/view/clean.ts'
import { type ArgsOf, BaseCommand } from '../../../terminal/command/base-command.ts'
import { tableLines } from '../../../terminal/output/table.ts'

export default class InstanceTranscript extends BaseCommand<typeof InstanceTranscript> {
  static override summary = 'Print what the LLM sessions of an instance did'
  static override description = `Without a session it lists them, with their tokens and estimated cost.
  A session of kind "scripted" got answers that were written in advance; its tools ran for real.`
  static override examples = ['resolve instance transcript @last', 'resolve instance transcript 3fa2 plan']
  static override args = {
    id: Args.string({ description: 'an id, a prefix of one, @last, or a name' }),
    session: Args.string({ description: 'the id of a session' }),
  }

  declare protected args: ArgsOf<typeof InstanceTranscript>

  protected async act(): Promise<number> {
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    if (this.args.session !== undefined) return await this.printOne(platform, id, this.args.session)
    const sessions = await platform.sessions(id)
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.sessions/1', instance_id: id, sessions })
      return 0
    }
    const width = process.stdout.isTTY ? process.stdout.columns : undefined
    for (const line of sessions.length === 0 ? [] : tableLines(HEAD, sessions.map(rowOf), width))
      await this.output.result(line)
    if (sessions.length === 0 && this.output.forPerson) this.output.note('No LLM sessions.')
    return 0
  }

  private async printOne(platform: Platform, id: string, session: string): Promise<number> {
    const transcript = await platform.transcript(id, session)
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.transcript/1', instance_id: id, ...transcript })
      return 0
    }
    for (const event of transcript.events) await this.output.result(indentedText(textOf(event)))
    if (transcript.meta.truncated) this.output.note('The transcript is longer; this is its beginning.')
    return 0
  }
}

const HEAD = [
  { title: 'SESSION' },
  { title: 'STATUS' },
  { title: 'MODEL', flexible: true },
  { title: 'KIND' },
  { title: 'STEPS' },
  { title: 'TOKENS' },
  { title: 'USD' },
]

function rowOf({ id, status, model, kind, steps, usage, cost_usd }: SessionSummary): string[] {
  const tokens = usage.input_tokens + usage.output_tokens
  const cost = cost_usd === null ? '-' : cost_usd.toFixed(4)
  return [id, status, cleanLine(model), kind, String(steps), String(tokens), cost]
}

/** The kind of the event, then what it says. */
function textOf({ type, timestamp, data }: TranscriptEvent): string {
  const said = ['prompt', 'text', 'output', 'detail', 'reason']
    .map((name) => data[name])
    .find((one) => typeof one === 'string')
  const input = data['input'] === undefined ? '' : JSON.stringify(data['input'])
  const error = data['error'] === undefined ? '' : JSON.stringify(data['error'])
  const words = [timestamp, type, data['tool'], input, error].filter((one) => typeof one === 'string' && one !== '')
  return [words.join(' '), ...(typeof said === 'string' && said !== '' ? [said] : [])].join('\n')
}
