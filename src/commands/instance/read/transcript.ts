/** `resolve instance transcript`: lists the LLM sessions of an instance, or prints what one did. */
import { setTimeout as sleep } from 'node:timers/promises'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { Platform } from '../../../core/index.ts'
import { TRAJECTORY_PIECE_BYTES } from '../../../core/limits.ts'
import { isObject } from '../../../core/primitives/is-object.ts'
import type { SessionSummary, TranscriptEvent } from '../../../core/protocol/session/session.ts'
import { toldImages } from '../../../core/protocol/session/told-images.ts'
import { piecesOf, trajectoryLines } from '../../../core/protocol/session/trajectory.ts'
import { cleanLine, indentedText } from '../../../core/view/clean.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { tableLines } from '../../../terminal/output/table.ts'

const FOLLOW_MS = 500

export default class InstanceTranscript extends BaseCommand<typeof InstanceTranscript> {
  static override summary = 'Print what the LLM sessions of an instance did'
  static override description = `Without a session it lists them, with their tokens and estimated cost.
  A session of kind "scripted" got answers that were written in advance; its tools ran for real.`
  static override examples = [
    'resolve instance transcript @last',
    'resolve instance transcript 3fa2 plan --follow',
    'resolve instance transcript 3fa2 plan --format atif > plan.json',
  ]
  static override args = {
    id: Args.string({ description: 'an id, a prefix of one, @last, or a name' }),
    session: Args.string({ description: 'the id of a session' }),
  }
  static override flags = {
    follow: Flags.boolean({ char: 'f', description: 'go on while the session runs', exclusive: ['format', 'json'] }),
    full: Flags.boolean({ description: 'print long inputs and outputs of tools whole' }),
    format: Flags.string({
      options: ['text', 'atif'] as const,
      default: 'text',
      description: 'atif: one JSON document',
    }),
  }

  declare protected args: ArgsOf<typeof InstanceTranscript>
  declare protected flags: FlagsOf<typeof InstanceTranscript>

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
    if (this.flags.format === 'atif') {
      const { resolver_version: version } = await platform.record(id)
      const pieces = piecesOf((after) => platform.transcript(id, session, after, TRAJECTORY_PIECE_BYTES))
      for await (const line of trajectoryLines(pieces, version)) await this.output.result(line)
      return 0
    }
    if (this.output.json) {
      const transcript = await platform.transcript(id, session)
      await this.output.document({ schema: 'resolve.transcript/1', instance_id: id, ...transcript })
      return 0
    }
    const calls = new Calls()
    for (let after = 0; ; ) {
      // Looked at before the transcript is read: what a session wrote before its end is there then.
      const isOver = !this.flags.follow || (await hasEnded(platform, id, session))
      const { events, meta } = await platform.transcript(id, session, after)
      for (const event of events) await this.output.result(indentedText(textOf(calls.told(event), this.flags.full)))
      if (meta.next === after && !meta.truncated && isOver) return 0
      if (meta.next === after) await sleep(FOLLOW_MS)
      after = meta.next
    }
  }
}

async function hasEnded(platform: Platform, id: string, session: string): Promise<boolean> {
  const known = (await platform.sessions(id)).find((one) => one.id === session)
  return known !== undefined && known.status !== 'running'
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

/** What the model wanted of calls that never ran, such as of a tool that is not there: their results say it, because no other event does. */
class Calls {
  readonly #asked = new Map<unknown, unknown>()

  told(event: TranscriptEvent): TranscriptEvent {
    const { type, data } = event
    const id = data['call_id']
    if (type === 'content_block:end') {
      this.#asked.clear()
      const calls: unknown[] = Array.isArray(data['calls']) ? data['calls'] : []
      for (const call of calls.filter(isObject)) this.#asked.set(call['id'], call['input'])
    }
    if (type === 'tool:pre') this.#asked.delete(id)
    if ((type !== 'tool:error' && type !== 'tool:post') || !this.#asked.has(id)) return event
    return { ...event, data: { ...data, input: this.#asked.get(id) } }
  }
}

const LINES_MAX = 12
const CHARS_MAX = 2_000

/** The kind of the event, then what it says. Of a tool's input and output the beginning, if they are long. */
function textOf({ type, timestamp, data }: TranscriptEvent, isFull: boolean): string {
  const isTool = type.startsWith('tool:')
  const fold = (text: string) => (isFull || !isTool ? text : folded(text))
  const said = ['prompt', 'text', 'output', 'detail', 'reason']
    .map((name) => data[name])
    .find((one) => typeof one === 'string')
  const input = data['input'] === undefined ? '' : fold(JSON.stringify(data['input']))
  const error = data['error'] === undefined ? '' : JSON.stringify(data['error'])
  const words = [timestamp, type, data['tool'], input, error].filter((one) => typeof one === 'string' && one !== '')
  const lines = typeof said === 'string' && said !== '' ? [fold(said)] : []
  return [words.join(' '), ...lines, ...toldImages(data['images'])].join('\n')
}

function folded(text: string): string {
  const lines = text.slice(0, CHARS_MAX).split('\n').slice(0, LINES_MAX).join('\n')
  return lines.length === text.length
    ? text
    : `${lines}\n… ${text.length - lines.length} more characters; --full prints them`
}
