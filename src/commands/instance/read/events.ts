/** `resolve instance events`: prints the journal as readable lines, or with --jsonl unchanged. */
import * as Flags from '@oclif/core/flags'
import type { JournalEvent, Platform } from '../../../core/index.ts'
import { tierOf } from '../../../core/protocol/event.ts'
import { isTerminal } from '../../../core/protocol/status.ts'
import { isRepetition } from '../../../core/view/event-words.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { idArg, jsonlFlag } from '../../../terminal/command/flags.ts'
import { matchesGlob } from '../../../terminal/input/glob.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { eventLine } from '../../../terminal/view/event-lines.ts'

export default class InstanceEvents extends BaseCommand<typeof InstanceEvents> {
  static override summary = 'Print the events of an instance'
  static override description = `Prints one line for each event, with the local time.
An event that repeats another one is left out, such as the resolver's own report of a question.
--type, --tier, --json and --jsonl print every event.`
  static override examples = [
    'resolve instance events @last --type "resolver:*"',
    'resolve instance events 3fa2 --follow --jsonl --since 120',
  ]
  static override args = idArg
  static override flags = {
    ...jsonlFlag,
    follow: Flags.boolean({ char: 'f', description: 'keep printing new events until the instance ends' }),
    type: Flags.string({ multiple: true, multipleNonGreedy: true, helpValue: 'GLOB', description: 'only these types' }),
    tier: Flags.integer({ min: 1, max: 3, description: "1 platform, 2 resolver vocabulary, 3 the resolver's own" }),
    since: Flags.integer({ helpValue: 'N', min: 0, default: 0, description: 'only events after this number' }),
  }

  declare protected flags: FlagsOf<typeof InstanceEvents>
  declare protected args: ArgsOf<typeof InstanceEvents>

  protected async act(): Promise<number> {
    if (this.flags.follow && this.output.json) throw usage('--follow cannot print a single document; use --jsonl.')
    const platform = await this.platform()
    const id = await this.instanceId(this.args.id)
    if (this.flags.follow) await platform.ensureHost(id)
    if (this.output.json) return await this.printDocument(platform, id)
    const hidesRepetitions = this.flags.type === undefined && this.flags.tier === undefined
    for await (const event of this.wanted(platform, id)) {
      if (this.output.jsonl) await this.output.raw(`${event.text}\n`)
      else if (!hidesRepetitions || !isRepetition(event.event))
        await this.output.result(eventLine(event.seq, event.event))
    }
    return 0
  }

  private async printDocument(platform: Platform, id: string): Promise<number> {
    const events: unknown[] = []
    for await (const { event } of this.wanted(platform, id)) events.push(event)
    await this.output.document({ schema: 'resolve.events/1', instance_id: id, events })
    return 0
  }

  private async *wanted(platform: Platform, id: string): AsyncIterable<JournalEvent> {
    const { type: globs, tier, since } = this.flags
    // An instance that has ended gets no new events: following it with --since after its last event would wait forever.
    const follow = this.flags.follow && !isTerminal((await platform.record(id)).status)
    for await (const event of platform.events(id, { after: since, follow, onConnection: this.connection.update })) {
      const name = event.event.event_type
      if (tier !== undefined && tierOf(name) !== tier) continue
      if (globs !== undefined && !globs.some((glob) => matchesGlob(name, glob))) continue
      yield event
    }
  }
}
