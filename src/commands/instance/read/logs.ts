/** `resolve instance logs`: prints what the worker of an instance printed and logged. */
import * as Flags from '@oclif/core/flags'
import type { Platform } from '../../../core/index.ts'
import type { LogLine } from '../../../core/protocol/log.ts'
import { indentedText } from '../../../core/view/clean.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { parseTime } from '../../../terminal/command/duration.ts'
import { idArg } from '../../../terminal/command/flags.ts'
import { followLog } from '../../../terminal/follow/follow-log.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { logLine } from '../../../terminal/view/log-lines.ts'

export default class InstanceLogs extends BaseCommand<typeof InstanceLogs> {
  static override summary = 'Print what the worker of an instance printed and logged'
  static override description = `Shows its log messages, its stderr, and text on its stdout that is not the protocol.
  Each line has the time at which the host read it.
  Messages of level debug are left out without --all.
  Control characters are removed, except with --raw and --jsonl.`
  static override examples = [
    'resolve instance logs @last --follow',
    'resolve instance logs 3fa2 --stderr --since 10m',
    'resolve instance logs 3fa2 --all --jsonl > log.jsonl',
  ]
  static override args = idArg
  static override flags = {
    follow: Flags.boolean({ char: 'f', description: 'keep printing new lines until the instance ends' }),
    since: Flags.string({
      helpValue: 'DUR|TIME',
      description: 'only lines of the last 30s, 5m, 2h, or from this time on: 2026-01-31T10:00:00Z',
    }),
    tail: Flags.integer({ helpValue: 'N', min: 0, description: 'only the last N lines' }),
    stderr: Flags.boolean({ description: 'only stderr', exclusive: ['all'] }),
    all: Flags.boolean({ description: 'also log messages of level debug' }),
    raw: Flags.boolean({
      description: 'print the text alone, unchanged unless it goes to a terminal',
      exclusive: ['jsonl', 'json'],
    }),
    jsonl: Flags.boolean({ description: 'print each line as one line of JSON', exclusive: ['json'] }),
  }

  declare protected flags: FlagsOf<typeof InstanceLogs>
  declare protected args: ArgsOf<typeof InstanceLogs>

  protected async act(): Promise<number> {
    const { follow, jsonl, raw } = this.flags
    if (follow && this.output.json) throw usage('--follow cannot print a single document; use --jsonl.')
    const platform = await this.platform()
    const since = this.flags.since === undefined ? undefined : parseTime(this.flags.since, Date.now())
    const id = await this.instanceId(this.args.id)
    if (follow) await platform.ensureHost(id)
    if (this.output.json) return await this.printDocument(platform, id, since)
    let isEmpty = true
    for await (const line of this.wanted(platform, id, since)) {
      isEmpty = false
      if (jsonl) await this.output.raw(`${JSON.stringify(line)}\n`)
      else if (raw) await this.output.result(line.text)
      else await this.output.result(indentedText(logLine(line)))
    }
    if (isEmpty && this.output.forPerson) this.output.note('No log lines.')
    return 0
  }

  private async printDocument(platform: Platform, id: string, since: string | undefined): Promise<number> {
    const lines: LogLine[] = []
    for await (const line of this.wanted(platform, id, since)) lines.push(line)
    await this.output.document({ schema: 'resolve.logs/1', instance_id: id, lines })
    return 0
  }

  private async *wanted(platform: Platform, id: string, since: string | undefined): AsyncIterable<LogLine> {
    const { follow, stderr, all, tail } = this.flags
    const options = {
      follow,
      onConnection: this.connection.update,
      ...(since === undefined ? {} : { since }),
      ...(tail === undefined ? {} : { tail }),
      ...(stderr ? { sources: ['stderr', 'platform'] as const } : {}),
    }
    for await (const line of followLog(platform, id, options)) {
      if (all || line.level !== 'debug') yield line
    }
  }
}
