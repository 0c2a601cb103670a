/** `resolve instance list`: what there is, what waits for a person first. */
import * as Flags from '@oclif/core/flags'
import type { Connection, InstanceFilter, InstancePage, InstanceRecord } from '../../../core/index.ts'
import { BaseCommand, type FlagsOf } from '../../../terminal/command/base-command.ts'
import { toStatuses } from '../../../terminal/command/flags.ts'
import { lookUntilSignal } from '../../../terminal/command/until-signal.ts'
import { usage } from '../../../terminal/output/command-error.ts'
import { lostText } from '../../../terminal/output/connection.ts'
import { openRepaint } from '../../../terminal/output/repaint.ts'
import { commandLine } from '../../../terminal/output/shell.ts'
import { isCi } from '../../../terminal/output/surroundings.ts'
import { changeLine, instanceTable, standingOf } from '../../../terminal/pages/instance-table.ts'

export default class InstanceList extends BaseCommand<typeof InstanceList> {
  static override summary = 'List instances, those that wait for you first'
  static override examples = [
    'resolve instance list',
    'resolve instance list --status failed --resolver tour --json',
    'resolve instance list --watch',
  ]
  static override flags = {
    status: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      description: 'only these statuses, with commas or again',
    }),
    resolver: Flags.string({ description: 'only instances of this resolver' }),
    limit: Flags.integer({ min: 1, max: 500, default: 30, description: 'how many at most, the newest' }),
    all: Flags.boolean({ description: 'all of them', exclusive: ['limit'] }),
    watch: Flags.boolean({ description: 'go on: repaint on a terminal, else print a line for each change' }),
  }

  declare protected flags: FlagsOf<typeof InstanceList>

  protected async act(): Promise<number> {
    const status = toStatuses(this.flags.status)
    const filter: InstanceFilter = {
      limit: this.flags.all ? 500 : this.flags.limit,
      ...(status === undefined ? {} : { status }),
      ...(this.flags.resolver === undefined ? {} : { resolver: this.flags.resolver }),
    }
    if (this.flags.watch) {
      if (this.output.json)
        throw usage(
          `--watch has no single document; "${commandLine('instance', 'events', '-f', '--jsonl')}" follows one.`,
        )
      return process.stdout.isTTY && process.env['TERM'] !== 'dumb' && !isCi()
        ? await this.repaint(filter)
        : await this.tellChanges(filter)
    }
    const { records, cursor } = await this.pages(filter)
    if (this.output.json) {
      await this.output.document({ schema: 'resolve.instances/1', instances: records, cursor })
      return 0
    }
    if (records.length === 0) {
      this.output.note(`No instance matches. Start one with "${commandLine('run', 'hello')}".`)
      return 0
    }
    const width = process.stdout.isTTY ? process.stdout.columns : undefined
    for (const line of instanceTable(records, Date.now(), width)) await this.output.result(line)
    if (cursor !== null) this.output.note('There are more; add --all, or --limit.')
    return 0
  }

  private async repaint(filter: InstanceFilter): Promise<number> {
    const page = openRepaint(() => ({ columns: process.stdout.columns, rows: process.stdout.rows }))
    let records: InstanceRecord[] = []
    const paint = async (lost?: Connection) => {
      const { columns } = process.stdout
      const now = Date.now()
      const above = lost?.state === 'lost' ? [lostText(lost, now, columns)] : []
      await this.output.raw(page.show([...above, ...instanceTable(records, now, columns)]))
    }
    const look = async () => {
      records = (await this.pages(filter)).records
      await paint()
    }
    // On the page itself: a line of stderr would stand in its way.
    return await lookUntilSignal(look, { onConnection: (changed) => void paint(changed), again: this.again() })
  }

  /** Each instance once at the beginning, then whenever it stands elsewhere. */
  private async tellChanges(filter: InstanceFilter): Promise<number> {
    const told = new Map<string, string>()
    const look = async () => {
      const { records } = await this.pages(filter)
      const gone = [...told.keys()].filter((id) => !records.some((record) => record.instance_id === id))
      for (const id of gone) told.delete(id)
      for (const record of records.toReversed()) {
        const standing = standingOf(record)
        if (told.get(record.instance_id) === standing) continue
        told.set(record.instance_id, standing)
        await this.output.result(changeLine(record))
      }
    }
    return await lookUntilSignal(look, { onConnection: this.connection.hear, again: this.again() })
  }

  /** The command itself, to be given again. */
  private again(): string {
    const { status = [], resolver } = this.flags
    const only = [
      ...status.flatMap((one) => ['--status', one]),
      ...(resolver === undefined ? [] : ['--resolver', resolver]),
    ]
    return commandLine('instance', 'list', '--watch', ...only)
  }

  private async pages(filter: InstanceFilter): Promise<{ records: InstanceRecord[]; cursor: string | null }> {
    const platform = await this.platform()
    const records: InstanceRecord[] = []
    let cursor: string | null = null
    do {
      const page: InstancePage = await platform.list({ ...filter, ...(cursor === null ? {} : { cursor }) })
      records.push(...page.records)
      cursor = page.cursor
    } while (this.flags.all && cursor !== null)
    return { records, cursor }
  }
}
